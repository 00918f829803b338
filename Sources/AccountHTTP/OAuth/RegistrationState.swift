import AccountKit
import Synchronization

/// The state of the registrations that an authority uses, for all copies of the value.
final class RegistrationState: Sendable {
    private struct State {
        var rejectedIDs: Set<String> = []
        var hasRejection = false
        var use: RegistrationUse?
        var replaced: ClientRegistration?
    }

    private let state = Mutex(State())

    /// Whether the service has rejected a registration since the last one was chosen.
    var hasRejection: Bool { state.withLock(\.hasRejection) }

    func noteRejection(of clientID: String) {
        state.withLock {
            $0.rejectedIDs.insert(clientID)
            $0.hasRejection = true
        }
    }

    func isRejected(_ registration: ClientRegistration) -> Bool {
        state.withLock { $0.rejectedIDs.contains(registration.clientID) }
    }

    /// The last registration that this authority has replaced, if no other sign-in used it then.
    var replaced: ClientRegistration? { state.withLock(\.replaced) }

    func noteChoice(of chosen: ClientRegistration, replacing stored: ClientRegistration?) {
        state.withLock {
            $0.hasRejection = false
            if let stored, stored.clientID != chosen.clientID { $0.replaced = stored }
        }
    }

    /// Keeps a registration in use after the sign-in has returned. The caller stores the account later, and may then have
    /// to keep the registration for other machines. The use ends with the next sign-in, with ``endUse()``, or with the
    /// authority.
    func hold(_ use: RegistrationUse?) { state.withLock { $0.use = use } }

    func endUse() {
        state.withLock {
            // The sign-in has the same object.
            $0.use?.end()
            $0.use = nil
        }
    }
}
