import AccountSupport

/// The parts of a command line that may be secrets, such as a token that the user typed as an argument. Errors don't repeat
/// them, because logs keep errors.
struct ArgumentSecrets: Sendable {
    /// What replaces a secret.
    private static let replacement = "(not shown)"

    /// The texts to replace, the longest first.
    private var pieces: [(text: String, replacement: String)] = []

    /// - Parameter isPath: Returns whether a file or folder exists.
    init(_ arguments: [String], isPath: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }) {
        for argument in arguments {
            if let scheme = argument.firstRange(of: "://") {
                add(url: argument[scheme.upperBound...])
            } else {
                if argument.hasPrefix("--") { add(option: argument) }
                for run in argument.split(whereSeparator: { !$0.utf8.allSatisfy(Self.isTokenByte) }) {
                    // `NAME=VALUE`, but not the padding of Base64.
                    let value = run.drop { $0 != "=" }.drop { $0 == "=" }
                    let text = value.isEmpty ? run : value
                    // A missing file is usually in an existing folder.
                    let folder = text.prefix { $0 == "/" } + text.drop { $0 == "/" }.prefix { $0 != "/" }
                    if Self.isLikeSecret(text), !isPath(String(folder)) { add(text) }
                }
            }
        }
        pieces.sort { $0.text.utf8.count > $1.text.utf8.count }
    }

    /// Those of this process.
    static let given = ArgumentSecrets(Array(CommandLine.arguments.dropFirst()))

    /// Returns the text without the secrets.
    func hidden(in text: String) -> String {
        pieces.reduce(text) { $0.replacing($1.text, with: $1.replacement) }
    }

    /// Returns whether a word is long, and neither words nor numbers, as the names of sessions and hosts are.
    static func isLikeSecret(_ word: Substring) -> Bool {
        guard word.utf8.count >= 20, word.utf8.allSatisfy(isTokenByte), word.contains(where: \.isNumber),
            word.contains(where: \.isLetter)
        else { return false }
        return !word.split(whereSeparator: { !$0.isLetter && !$0.isNumber }).allSatisfy { part in
            let digits = part.drop(while: \.isLetter)
            return part.utf8.count <= 16 && digits.allSatisfy(\.isNumber) && digits.count <= (part == digits ? 8 : 4)
        }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "._~+/=-".utf8.contains(byte)
    }

    private mutating func add(_ text: some StringProtocol) {
        pieces.append((String(text), Self.replacement))
        // Hosts and names of services are shown in lower case.
        pieces.append((text.lowercased(), Self.replacement))
    }

    /// Adds the password, the query and the fragment of a URL, and a token in the place of the host.
    private mutating func add(url: Substring) {
        let authority = url.prefix { !"/?#".contains($0) }
        let user = authority.lastIndex(of: "@").map { authority[..<$0] }
        if let user, user.contains(":") || Self.isLikeSecret(user) {
            pieces.append(("\(user)@", "\(Self.replacement)@"))
        }
        let host = authority[(user.map { authority.index(after: $0.endIndex) } ?? authority.startIndex)...]
        if Self.isLikeSecret(host.prefix { $0 != ":" }) { add(host.prefix { $0 != ":" }) }
        guard let mark = url.firstIndex(where: { "?#".contains($0) }) else { return }
        let query = url[url.index(after: mark)...]
        guard !query.isEmpty else { return }
        pieces.append((String(url[mark...]), "\(url[mark])\(Self.replacement)"))
        for value in query.split(whereSeparator: { "&#".contains($0) }) where value.utf8.count >= 8 { add(value) }
    }

    /// Adds the value after `=` of an option that reads a secret from elsewhere.
    private mutating func add(option: String) {
        guard let equals = option.firstIndex(of: "=") else { return }
        let (name, value) = (option[..<equals], option[option.index(after: equals)...])
        guard ["token", "password", "secret"].contains(where: { name.firstRange(of: $0) != nil }), !value.isEmpty
        else { return }
        pieces.append((option, "\(name)=\(Self.replacement)"))
        pieces.append(("'\(value)'", "'\(Self.replacement)'"))
    }
}
