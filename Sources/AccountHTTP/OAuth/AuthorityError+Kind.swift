import AccountKit

extension AuthorityError {
    /// Whether a server responded, and did not merely report that it is overloaded or being repaired.
    var isResponse: Bool {
        switch self {
        case .noResponse, .untrustedTLS, .notSent, .unavailable: false
        default: true
        }
    }

    /// Whether the task of the caller was cancelled, before or after the request was sent.
    var isCancellation: Bool { if case .noResponse(.cancelled) = self { true } else { false } }

    /// Whether there was no response.
    var isMissing: Bool {
        switch self {
        case .noResponse, .untrustedTLS, .notSent, .proxyAuthenticationRequired: true
        default: false
        }
    }

    /// Whether the service may respond differently soon.
    var isTemporary: Bool {
        switch self {
        case .noResponse, .notSent, .unavailable: true
        default: false
        }
    }

    /// Whether the name or the port of the host is no longer in use, or belongs to another owner.
    var isAboutHost: Bool {
        switch self {
        case .noResponse(.unknownHost), .noResponse(.refused), .untrustedTLS: true
        default: false
        }
    }
}
