/// The name of this machine's loopback interface, in one of the ways it is written.
struct LoopbackHost: Equatable, Sendable {
    /// The host without brackets, as a listening socket wants it.
    let address: String

    /// - Parameter text: `localhost`, an address in 127.0.0.0/8 (RFC 1122, section 3.2.1.3) or `::1`, which may be in
    ///   brackets. Any other name is refused even if it should resolve to the loopback interface.
    init?(_ text: String) {
        switch text {
        case "localhost": address = text
        case "::1", "[::1]": address = "::1"
        default:
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 4, parts[0] == "127", parts.allSatisfy(Self.isByte) else { return nil }
            address = text
        }
    }

    /// The host as it is written in a URL (RFC 3986, section 3.2.2).
    var urlText: String { address.contains(":") ? "[\(address)]" : address }

    private static func isByte(_ text: Substring) -> Bool {
        text.allSatisfy { $0.isASCII && $0.isNumber } && text.count <= 3 && UInt8(text) != nil
    }
}
