import AccountKit
import ArgumentParser

enum SignInWay {
    case device, browser, password, token

    fileprivate func isOffered(by authority: any AccountAuthority) -> Bool {
        switch self {
        case .device: authority is any DeviceAuthority
        case .browser: authority is any BrowserAuthority
        case .password: authority is any PasswordAuthority
        case .token: authority is any TokenAuthority
        }
    }
}

extension AccountApplication {
    /// Whether the app's service has one of some ways to sign in. Of one that the user names that is not known yet, so it may.
    static func offers(_ ways: [SignInWay]) -> Bool {
        // Where there is no authority, signing in says why.
        guard !acceptsIssuer,
            let authority = try? authority(for: AccountService(), timeout: .seconds(10), logger: nil)
        else { return true }
        return ways.contains { $0.isOffered(by: authority) }
    }

    /// Help shows the options of the ways to sign in that there are.
    static func visibility(of ways: SignInWay...) -> ArgumentVisibility { offers(ways) ? .default : .hidden }
}
