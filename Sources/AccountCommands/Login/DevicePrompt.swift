import AccountKit
import AccountSupport

enum DevicePrompt {
    /// The first line of `login --device --json`, for programs that show the code themselves.
    private struct Prompt: Encodable {
        var userCode: String
        var verificationURL: String
        var completeVerificationURL: String?
        var expiresIn: Int64
        var interval: Int64
    }

    static func show(
        _ authorization: DeviceAuthorization, withQRCode: Bool, asJSON: Bool
    ) async throws {
        if asJSON {
            let prompt = Prompt(
                userCode: authorization.userCode, verificationURL: authorization.verificationURI,
                completeVerificationURL: authorization.verificationURIComplete,
                expiresIn: authorization.lifetime.components.seconds,
                interval: authorization.interval.components.seconds)
            return try JSONDocument.print(["prompt": prompt])
        }
        Terminal.say("Open this address on any device:\n\n    \(authorization.verificationURI.shown)\n")
        Terminal.say("and enter this code:\n\n    \(authorization.userCode.shown)\n")
        if withQRCode, Terminal.isTerminal(.error),
            let code = await QRCode(of: authorization.verificationURIComplete ?? authorization.verificationURI),
            code.fits(in: Terminal.size(of: .error))
        {
            Terminal.say("or scan this code:\n\n\(code.text)")
        }
        Terminal.say("The code is valid for \(authorization.lifetime.text). Press Ctrl-C to cancel.")
    }
}

struct Countdown {
    private let counting: Task<Void, any Error>

    init?(from limit: Duration) {
        guard Terminal.isTerminal(.error), !Terminal.isDumb else { return nil }
        let start = ContinuousClock.now
        counting = Task {
            while true {
                try Task.checkCancellation()
                Terminal.rewriteLine("Waiting: \((limit - start.duration(to: .now)).clockText) left ")
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    func stop() {
        counting.cancel()
        Terminal.rewriteLine("")
    }
}

extension Duration {
    fileprivate var clockText: String {
        let seconds = max(components.seconds, 0)
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}
