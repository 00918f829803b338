import AccountKit
import AccountSupport

struct QRCode {
    package let text: String

    /// Creates the QR code of an address; `nil` if the program is not installed, or if no other device could open the
    /// address.
    init?(of address: String, with program: String = "qrencode") async {
        guard Self.isForOtherDevices(address),
            let text = await ExternalProgram.output(of: program, ["--type=UTF8", "--margin=2"], input: address)
        else { return nil }
        self.init(text: text)
    }

    init(text: String) { self.text = text }

    /// Returns whether the code fits on the screen, with room for two more lines.
    func fits(in size: TerminalSize) -> Bool {
        let rows = text.split(separator: "\n")
        return rows.count + 2 <= size.rows && rows.allSatisfy { $0.count <= size.columns }
    }

    /// Returns whether other devices could open an address: `false` for names and addresses of this machine (RFC 6761,
    /// section 6.3; RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3).
    static func isForOtherDevices(_ address: String) -> Bool {
        let parts = address.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].hasSuffix(":"), parts[1].isEmpty else { return false }
        let authority = parts[2].prefix { !"/?#".contains($0) }
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let name: Substring
        if host.hasPrefix("[") {
            name = host.dropFirst().prefix { $0 != "]" }
        } else {
            name = host.prefix { $0 != ":" }
        }
        let bare = name.lowercased().hasSuffix(".") ? String(name.lowercased().dropLast()) : name.lowercased()
        guard let ip = IPAddress(bare) else {
            return !bare.isEmpty && bare != LoopbackHost.name && !bare.hasSuffix("." + LoopbackHost.name)
        }
        let unspecified = ["0.0.0.0", "::"].compactMap { IPAddress($0) }
        let mappedLoopback = IPAddress("::ffff:127.0.0.0")
        return !ip.isLoopback && !unspecified.contains(ip)
            && !(mappedLoopback.map { ip.begins(as: $0, bits: 104) } ?? false)
    }
}
