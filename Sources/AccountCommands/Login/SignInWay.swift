import AccountKit
import ArgumentParser

enum SignInWay {
    case device, browser, password, token, client

    fileprivate func isOffered(by authority: any ServiceAuthority) -> Bool {
        switch self {
        case .device: authority.deviceWay != nil
        case .browser: authority.browserWay != nil
        case .password: authority.passwordWay != nil
        case .token: authority.tokenWay != nil
        case .client: authority.clientWay != nil
        }
    }
}

extension AccountApplication {
    /// Returns whether the app's service supports one of these ways. A service that the user chooses may support any.
    static func offers(_ ways: [SignInWay]) -> Bool {
        // If there is no authority, the sign-in reports the reason.
        guard !acceptsIssuer, let authority = try? authority().serviceAuthority else { return true }
        return ways.contains { $0.isOffered(by: authority) }
    }

    static func visibility(of ways: SignInWay...) -> ArgumentVisibility { offers(ways) ? .default : .hidden }

    /// The visibility of an option that only the complete help shows.
    static func moreVisibility(of ways: SignInWay...) -> ArgumentVisibility { offers(ways) ? HelpDetail.more : .hidden }
}
