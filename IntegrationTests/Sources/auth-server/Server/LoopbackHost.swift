/// A name or address of the loopback interface.
struct LoopbackHost: Equatable, Sendable {
    /// The host without brackets, for a listening socket.
    let address: String

    /// - Parameter text: `localhost`, an address in 127.0.0.0/8 (RFC 1122, section 3.2.1.3) or `::1`, with or without
    ///   brackets. Any other name is rejected, even if it resolves to the loopback interface.
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

    /// The host in the format of a URL (RFC 3986, section 3.2.2).
    var urlText: String { address.contains(":") ? "[\(address)]" : address }

    private static func isByte(_ text: Substring) -> Bool {
        text.allSatisfy { $0.isASCII && $0.isNumber } && text.count <= 3 && UInt8(text) != nil
    }
}
