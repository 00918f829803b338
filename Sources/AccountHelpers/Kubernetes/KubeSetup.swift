import AccountCommands
import AccountKit
import AccountSupport

/// The users of kubeconfig files whose credentials come from a program (client-go credential plugins).
struct KubeSetup {
    struct User: Equatable {
        var name = ""
        var command = ""
        var arguments: [String] = []

        /// Whether kubectl passes the cluster to the program (`provideClusterInfo`).
        var namesCluster = false

        /// Returns the program that kubectl runs: a relative path is relative to the folder of the file.
        func program(in folder: String) -> String {
            command.contains("/") && !command.hasPrefix("/") ? folder + "/" + command : command
        }

        var isForAnyCluster: Bool { arguments.contains("--any-cluster") }

        var session: String? { arguments.value(of: "--session") }
    }

    private(set) var users: [User]

    /// - Parameter bytes: A kubeconfig: JSON, or YAML in the block style that kubectl writes. Users in other styles are
    ///   not found.
    init(_ bytes: [UInt8]) {
        if let object = JSONValue.object(from: bytes) {
            users = Self.users(in: object)
        } else {
            users = Self.users(inBlocks: String(decoding: bytes, as: UTF8.self))
        }
    }

    private static func users(in config: JSONObject) -> [User] {
        guard case .array(let entries)? = config["users"] else { return [] }
        return entries.compactMap { entry in
            guard case .object(let members) = entry, case .object(let user)? = members["user"],
                case .object(let exec)? = user["exec"], let command = exec["command"]?.string
            else { return nil }
            var arguments: [String] = []
            if case .array(let values)? = exec["args"] { arguments = values.compactMap(\.string) }
            return User(
                name: members["name"]?.string ?? "", command: command, arguments: arguments,
                namesCluster: exec["provideClusterInfo"] == .boolean(true))
        }
    }

    private static func users(inBlocks text: String) -> [User] {
        var users: [User] = []
        var user = User()
        var section = ""
        // The indentations of a user's dash, of `exec`, and of the keys in it; -1 outside.
        var (item, exec, inside, key) = (-1, -1, -1, "")
        for line in text.split(whereSeparator: \.isNewline) {
            var content = line.drop { $0 == " " }
            var indent = line.count - content.count
            guard !content.isEmpty, !content.hasPrefix("#"), !content.hasPrefix("---") else { continue }
            let isItem = content == "-" || content.hasPrefix("- ")
            if indent == 0, !isItem {
                section = pair(content).key
                (item, exec) = (-1, -1)
                continue
            }
            guard section == "users" else { continue }
            if exec >= 0, indent <= exec { exec = -1 }
            if isItem {
                if item < 0 { item = indent }
                if exec >= 0, indent > item {
                    if key == "args" { user.arguments.append(scalar(content.dropFirst())) }
                    continue
                }
                guard indent == item else { continue }
                if !user.command.isEmpty { users.append(user) }
                (user, exec) = (User(), -1)
                let rest = content.dropFirst().drop { $0 == " " }
                indent += content.count - rest.count
                content = rest
            }
            let (name, value) = pair(content)
            if exec >= 0 {
                if inside < 0 { inside = indent }
                guard indent == inside else { continue }
                key = name
                if name == "command" { user.command = scalar(value) }
                if name == "provideClusterInfo" { user.namesCluster = scalar(value) == "true" }
                if name == "args", value.hasPrefix("["), value.hasSuffix("]") {
                    user.arguments = value.dropFirst().dropLast().split(separator: ",").map { scalar($0) }
                }
            } else if name == "exec" {
                (exec, inside, key) = (indent, -1, "")
            } else if name == "name", indent == item + 2 {
                user.name = scalar(value)
            }
        }
        if !user.command.isEmpty { users.append(user) }
        return users
    }

    private static func pair(_ content: Substring) -> (key: String, value: Substring) {
        guard let colon = content.firstIndex(of: ":") else { return (scalar(content), "") }
        return (scalar(content[..<colon]), content[content.index(after: colon)...].trimmed)
    }

    private static func scalar(_ text: Substring) -> String {
        let text = text.trimmed
        guard let quote = text.first, quote == "\"" || quote == "'" else {
            return String((text.firstRange(of: " #").map { text[..<$0.lowerBound] } ?? text).trimmed)
        }
        return String(text.dropFirst().prefix { $0 != quote })
    }

    func findings(path: String, _ surroundings: ProgramSurroundings) -> [Finding] {
        let folder = path.parentDirectory
        return ownUsers(surroundings.tool, surroundings.program, in: folder).map { user in
            guard surroundings.isInstalled(user.program(in: folder)) else {
                return Finding(
                    problem:
                        "\(path) makes kubectl run \(user.command.shown) for the user \(user.name.shown), but that program "
                        + "does not exist",
                    advice:
                        ": run `kubectl config set-credentials \(user.name.shown.shellWord) --exec-command=PATH`"
                )
            }
            guard user.namesCluster || user.isForAnyCluster else {
                return Finding(
                    problem:
                        "kubectl does not name the cluster when it requests the token of the user \(user.name.shown) (\(path)), "
                        + "so the cluster gets no token",
                    advice:
                        ": run `kubectl config set-credentials \(user.name.shown.shellWord) --exec-provide-cluster-info`"
                )
            }
            return Finding(
                problem: "kubectl asks this tool for the token of the user \(user.name.shown) (\(path))", isNote: true)
        }
    }

    /// Returns the users whose credentials come from this tool.
    ///
    /// - Parameter folder: The folder of the file.
    func ownUsers(_ tool: String, _ program: ToolProgram, in folder: String) -> [User] {
        let words = tool.split(separator: " ").dropFirst().map(String.init) + ["kube-credential"]
        return users.filter { user in
            let place = user.program(in: folder)
            return (program.isRun(by: place) || program.isGone(place))
                && user.arguments.drop { $0.hasPrefix("-") }.starts(with: words)
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
