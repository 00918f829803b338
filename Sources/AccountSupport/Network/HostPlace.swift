/// The network that a host is in, according to its address (RFC 6890). A name is public, except `localhost`.
package enum HostPlace: Sendable, Hashable {
    case thisMachine

    /// A local network, such as 10.0.0.0/8 or fc00::/7.
    case privateNetwork

    /// Addresses of one link, at which clouds offer credentials to their machines.
    case link

    case everywhere

    /// A number that some programs read as an address, such as `2130706433` or `127.1`.
    case ambiguous

    /// - Parameter host: In lower case; an IPv6 address in brackets.
    package init(of host: some StringProtocol) {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : String(host)
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        if let address = IPAddress(isBracketed ? String(name.dropFirst().dropLast()) : name) {
            self.init(of: address)
        } else if name == LoopbackHost.name || name.hasSuffix("." + LoopbackHost.name) {
            self = .thisMachine
        } else {
            // The URL Standard, section 3.5: a host whose last label is a number is an IPv4 address.
            let last = name.split(separator: ".").last ?? ""
            let isNumber = !last.isEmpty && last.utf8.allSatisfy { 48...57 ~= $0 } || last.hasPrefix("0x")
            self = isNumber ? .ambiguous : .everywhere
        }
    }

    package init(of address: IPAddress) {
        if let embedded = address.embeddedIPv4 {
            self.init(of: embedded)
        } else if address.isLoopback || Self.blocksOfThisMachine.contains(where: address.begins) {
            self = .thisMachine
        } else if Self.blocksOfLinks.contains(where: address.begins) {
            self = .link
        } else if Self.privateBlocks.contains(where: address.begins) {
            self = .privateNetwork
        } else {
            self = .everywhere
        }
    }

    private static let blocksOfThisMachine = [Block("0.0.0.0", 8), Block("::", 128)]
    private static let blocksOfLinks = [Block("169.254.0.0", 16), Block("fe80::", 10)]
    private static let privateBlocks = [
        Block("10.0.0.0", 8), Block("172.16.0.0", 12), Block("192.168.0.0", 16), Block("100.64.0.0", 10),
        Block("192.0.0.0", 24), Block("198.18.0.0", 15), Block("224.0.0.0", 3), Block("fc00::", 7),
        Block("fec0::", 10), Block("ff00::", 8), Block("64:ff9b::", 96), Block("64:ff9b:1::", 48), Block("2002::", 16),
    ]

    /// Whether metadata of a server in this network may name a server in the `other` network.
    package func mayName(_ other: HostPlace) -> Bool {
        switch other {
        case .everywhere: true
        case .ambiguous: false
        case .thisMachine, .privateNetwork, .link: self == other
        }
    }
}

private struct Block: Sendable {
    let base: IPAddress?
    let bits: Int

    init(_ base: String, _ bits: Int) {
        self.base = IPAddress(base)
        self.bits = bits
    }
}

extension IPAddress {
    fileprivate func begins(as block: Block) -> Bool { block.base.map { begins(as: $0, bits: block.bits) } ?? false }
}
