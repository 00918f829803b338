@testable import EndToEndSupport
import Foundation
import Subprocess

/// Dovecot on loopback, which accepts mail with a token of the example server (XOAUTH2) and forwards it to aiosmtpd.
/// Neither server is part of this project.
struct MailServer: Sendable {
    let port: Int
    /// The server's certificate.
    let certificate: Certificate
    /// The folder of the received mail.
    private let mailbox: String

    /// The received messages.
    func messages() throws -> [String] {
        let folder = mailbox + "/new"
        return try FileManager.default.contentsOfDirectory(atPath: folder).map {
            try String(contentsOfFile: folder + "/" + $0, encoding: .utf8)
        }
    }

    /// Serves during the test.
    ///
    /// - Parameter server: The service that identifies the user of a token.
    static func run<Result: Sendable>(
        trusting server: ExampleServer, in container: Container, _ test: (MailServer) async throws -> Result
    ) async throws -> Result {
        let python = try await PythonEnvironment.prepare("mail", importing: "aiosmtpd", in: container)
        let mailbox = container.path("mailbox")
        let relay = try FreePort.find()
        // aiosmtpd reports only in its log that it is ready.
        let words = [python, "-u", "-m", "aiosmtpd", "-n", "-d", "-l", "127.0.0.1:\(relay)"]
        let sink = Command(
            words: ["sh", "-c", "exec \"$@\" 2>&1", "sh"] + words + ["-c", "aiosmtpd.handlers.Mailbox", mailbox],
            environment: container.environment)
        return try await ServerProcess.run(
            sink, readingAddress: { $0.contains("Server is listening on") ? $0 : nil }, endingAs: .signaled(15)
        ) { _ in
            let mail = MailServer(
                port: try FreePort.find(), certificate: try await .make(in: container), mailbox: mailbox)
            let settings = container.path("dovecot.conf")
            try container.write(try mail.settings(issuer: server.issuer, relay: relay, container).utf8, to: settings)
            let dovecot = Command(
                words: ["sh", "-c", "exec dovecot -F -c \"$1\" 2>&1", "sh", settings],
                environment: container.environment)
            return try await ServerProcess.run(
                dovecot, readingAddress: { $0.contains("starting up for submission") ? $0 : nil }
            ) { _ in
                try await test(mail)
            }
        }
    }

    private func settings(issuer: String, relay: Int, _ container: Container) throws -> String {
        let tokens = container.path("dovecot-oauth2.conf")
        try container.write(
            """
            introspection_mode = auth
            introspection_url = \(issuer)/oauth/userinfo
            username_attribute = preferred_username

            """.utf8, to: tokens)
        // If root starts Dovecot, let Dovecot's users reach the sockets in the container, but not list the container.
        if Privileges.isRoot { try container.setPermissions(0o711, of: container.root) }
        let users =
            Privileges.isRoot
            ? "" : "default_internal_user = \(NSUserName())\ndefault_login_user = \(NSUserName())\n"
        let user = Privileges.isRoot ? "uid=nobody gid=nogroup" : "uid=\(getuid()) gid=\(getgid())"
        return """
            base_dir = \(container.path("dovecot"))
            state_dir = \(container.path("dovecot"))
            \(users)log_path = /dev/stderr
            protocols = submission
            listen = 127.0.0.1
            ssl = required
            ssl_cert = <\(certificate.path)
            ssl_key = <\(certificate.keyPath)
            auth_mechanisms = xoauth2 oauthbearer
            mail_location = maildir:~/mail
            passdb {
              driver = oauth2
              mechanisms = xoauth2 oauthbearer
              args = \(tokens)
            }
            userdb {
              driver = static
              args = \(user) home=/nonexistent
            }
            service submission-login {
              inet_listener submission {
                port = \(port)
              }
            }
            submission_relay_host = 127.0.0.1
            submission_relay_port = \(relay)
            submission_relay_trusted = yes

            """
    }
}
