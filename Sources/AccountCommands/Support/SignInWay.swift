import AccountKit
import ArgumentParser

enum SignInWay {
    case device, browser, password, token, client

    fileprivate func isOffered(by authority: any AccountAuthority) -> Bool {
        switch self {
        case .device: authority is any DeviceAuthority
        case .browser: authority is any BrowserAuthority
        case .password: authority is any PasswordAuthority
        case .token: authority is any TokenAuthority
        case .client: authority is any ClientAuthority
        }
    }
}

extension AccountApplication {
    /// Returns whether the app's service supports one of these ways. A service that the user chooses may support any.
    static func offers(_ ways: [SignInWay]) -> Bool {
        // If there is no authority, the sign-in reports the reason.
        guard !acceptsIssuer, let authority = try? authority() else { return true }
        return ways.contains { $0.isOffered(by: authority) }
    }

    static func visibility(of ways: SignInWay...) -> ArgumentVisibility { offers(ways) ? .default : .hidden }
}
