package import AccountSupport
package import AsyncHTTPClient
package import NIOCore
import NIOSSL

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// What AccountKit requires of a connection before it sends the first byte of a request.
///
/// - Over TLS, the certificate is for the host of the URL; see ``CertificateNames``. NIOSSL has already verified its chain and dates.
/// - Without TLS, on Linux, the program at the other end belongs to the user or to root; see ``LoopbackOwner``. Elsewhere, and if the system
///   forwards the port to another network (as container programs do), this is not checked.
/// - If a server named the URL, the address is public or in the network of that server.
package struct ConnectionCheck: Sendable {
    /// The host of the URL, in lower case. An IPv6 address is in brackets.
    package var host: String

    package var usesTLS: Bool

    /// Whether the connection leads to a proxy, so that its address is not the address of the host.
    package var isProxied: Bool

    /// The users whose programs may answer without TLS: root, and the user of this process.
    package var trustedUsers: Set<UInt32> = [0, getuid(), geteuid()]

    /// Decides about the network of the other end of a connection. Returns the reason why the connection must not be used.
    package var flaw: @Sendable (IPAddress) -> String?

    package init(
        host: String, usesTLS: Bool, isProxied: Bool = false,
        flaw: @escaping @Sendable (IPAddress) -> String? = { _ in nil }
    ) {
        self.host = host
        self.usesTLS = usesTLS
        self.isProxied = isProxied
        self.flaw = flaw
    }

    /// Checks each new connection of a client, which must be used only for this host.
    ///
    /// - Parameter then: Changes the pipeline of a connection that was accepted.
    package func install(
        in configuration: inout HTTPClient.Configuration,
        then: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) {
        configuration.http1_1ConnectionDebugInitializer = { channel in
            let checked = channel.eventLoop.submit {
                // A connection that was closed immediately has no handlers, and the callers that wait for it receive the error.
                guard channel.isActive else { return }
                try check(channel)
                try then(channel)
            }
            // The HTTP client does not close a connection that it could not prepare. First, it must learn of the failure.
            checked.whenFailure { _ in channel.eventLoop.execute { channel.close(promise: nil) } }
            return checked
        }
    }

    private func check(_ channel: any Channel) throws {
        if usesTLS { try checkCertificate(of: channel) }
        guard !isProxied, let remote = channel.remoteAddress, let address = remote.ipAddress.flatMap({ IPAddress($0) })
        else { return }
        if let flaw = flaw(address) { throw ConnectionRefusal.network(flaw) }
        guard !usesTLS, let local = channel.localAddress, let own = local.ipAddress.flatMap({ IPAddress($0) }) else {
            return
        }
        let user = LoopbackOwner.user(
            server: .init(address, UInt16(remote.port ?? 0)), client: .init(own, UInt16(local.port ?? 0)))
        if let user, !trustedUsers.contains(user) { throw ConnectionRefusal.owner(user) }
    }

    private func checkCertificate(of channel: any Channel) throws {
        let handler: NIOSSLClientHandler
        do {
            handler = try channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        } catch {
            #if canImport(Network)
            // Network.framework has verified the host name.
            return
            #else
            throw ConnectionRefusal.certificate
            #endif
        }
        guard let certificate = handler.peerCertificate, CertificateNames(certificate).contain(host) else {
            throw ConnectionRefusal.certificate
        }
    }
}

/// The reason why AccountKit closed a new connection without sending a request.
package enum ConnectionRefusal: Error, Hashable {
    /// The certificate is not for the host.
    case certificate

    /// The program at the other end belongs to the user with this number.
    case owner(UInt32)

    /// The address is in a network that the server which named the host must not name.
    case network(String)

    /// Describes a program of another user.
    ///
    /// - Parameters:
    ///   - user: The name of the user.
    ///   - place: The address and the port of the program.
    package static func text(ofOwner user: String, at place: String) -> String {
        "the program that answers at \(place) belongs to another user of this machine (\(user)); "
            + "start the service as yourself, or use https://"
    }
}
