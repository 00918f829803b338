import AccountKit

/// Shows the code of a sign-in on another device, and how long it is still good.
struct DevicePrompt: Sendable {
    let showsQRCode: Bool
    let isJSON: Bool

    /// Environment variables that no other program gets.
    let secretVariables: [String]

    /// The first line of `login --device --json`, for programs that show the code themselves.
    private struct Document: Encodable {
        struct Prompt: Encodable {
            var userCode: String
            var verificationURL: String
            var completeVerificationURL: String?
            var expiresIn: Int64
            var interval: Int64
        }

        var prompt: Prompt
    }

    func show(_ authorization: DeviceAuthorization) async throws {
        if isJSON {
            return try JSONDocument.print(
                Document(
                    prompt: .init(
                        userCode: authorization.userCode, verificationURL: authorization.verificationURL,
                        completeVerificationURL: authorization.completeVerificationURL,
                        expiresIn: authorization.lifetime.components.seconds,
                        interval: authorization.interval.components.seconds)))
        }
        Terminal.writeLine("Open this address on any device:\n\n    \(authorization.verificationURL)\n", to: .error)
        Terminal.writeLine("and enter this code:\n\n    \(authorization.userCode)\n", to: .error)
        if showsQRCode, Terminal.isTerminal(.error), let code = await qrCode(of: authorization) {
            Terminal.writeLine("or scan this:\n\n\(code)", to: .error)
        }
        Terminal.writeLine("The code is good for \(authorization.lifetime.text). Ctrl-C gives up.", to: .error)
    }

    private func qrCode(of authorization: DeviceAuthorization) async -> String? {
        let address = authorization.completeVerificationURL ?? authorization.verificationURL
        return await ExternalProgram.output(
            of: "qrencode", ["--type=UTF8", "--margin=2", "--", address], hiding: secretVariables)
    }
}

/// Counts down on a terminal how long is still waited; shows nothing elsewhere.
struct Countdown {
    private let counting: Task<Void, any Error>?

    init(from limit: Duration) {
        guard Terminal.isTerminal(.error) else {
            counting = nil
            return
        }
        let start = ContinuousClock.now
        counting = Task {
            while true {
                try Task.checkCancellation()
                Terminal.rewriteLine("Waiting: \((limit - start.duration(to: .now)).clockText) left ", on: .error)
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    func stop() {
        guard let counting else { return }
        counting.cancel()
        Terminal.rewriteLine("", on: .error)
    }
}

extension Duration {
    /// As a clock shows it: "14:32".
    fileprivate var clockText: String {
        let seconds = max(components.seconds, 0)
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}
