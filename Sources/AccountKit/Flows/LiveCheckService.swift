import AccountSupport
import Logging

/// Sends the requests of a check to a service. Create an instance for each check.
final class LiveCheckService: CheckService {
    private let service: any AccountAuthority
    private let flows: Flows
    private let deadline: ContinuousClock.Instant?

    /// The account about which the service has responded.
    private(set) var confirmed: Account?

    init(_ service: any AccountAuthority, _ flows: Flows, until deadline: ContinuousClock.Instant?) {
        self.service = service
        self.flows = flows
        self.deadline = deadline
    }

    func verify(_ account: Account) async throws(AuthorityError) -> Identity {
        // Without threads, the tasks below would wait forever.
        guard ThreadSupply.isSufficient else { throw .noThread }
        let identity: Identity?
        do {
            identity = try await withDeadline(deadline) { [service] in try await service.verify(account) }
        } catch {
            throw flows.converted(error)
        }
        guard let identity else { throw .noResponse(.timeout) }
        confirmed = account
        return identity
    }

    func refresh(_ account: Account) async -> RefreshOutcome {
        await flows.refresh(account, service, until: deadline)
    }
}

extension Flows {
    /// Converts an error. Logs an error of the app's authority, since `SessionDecision` treats it as an unclear
    /// response.
    func converted(_ error: any Error) -> AuthorityError {
        if !(error is AuthorityError), !(error is CancellationError) {
            let text = "\(type(of: error)): \(error)".shown
            vault.logger?.debug("the app's authority failed", metadata: ["error": "\(text)"])
        }
        return AuthorityError(error)
    }
}
