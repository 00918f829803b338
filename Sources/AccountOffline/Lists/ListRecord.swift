#if Offline
import HTTPTypes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The data of a list besides its rows.
struct ListRecord: Codable, Sendable, Equatable {
    /// A run of pages that are known to follow each other; between two there is a gap.
    struct Segment: Codable, Sendable, Equatable {
        /// Lower ones come first.
        var number: Int
        /// Where the page after it is; `nil` if the list ends with it.
        var next: String?
    }

    let name: String
    var segments: [Segment] = []

    /// Where the first page says that the one after it is.
    var next: String?

    /// Of the first page, and the request that they are good for.
    var validators: Validators?

    /// When the service first said that a list of several rows is empty.
    var emptySince: Date?

    init(name: String) { self.name = name }
}

/// The validators of a conditional request (RFC 9110, section 8.8).
struct Validators: Codable, Sendable, Equatable {
    /// Path and accepted types.
    var request: String
    var entityTag: String?
    var lastModified: String?

    var isEmpty: Bool { entityTag == nil && lastModified == nil }

    /// The validators of a response.
    init(_ head: HTTPResponse, to request: HTTPRequest) {
        self.request = Self.place(of: request)
        entityTag = head.headerFields[.eTag]
        lastModified = head.headerFields[.lastModified]
    }

    /// The path and the accepted types of a request.
    static func place(of request: HTTPRequest) -> String {
        (request.path ?? "") + " " + (request.headerFields[.accept] ?? "")
    }
}

extension HTTPRequest {
    /// Makes the request conditional, if the validators are of what it asks for.
    mutating func add(_ validators: Validators) {
        guard validators.request == Validators.place(of: self) else { return }
        headerFields[.ifNoneMatch] = validators.entityTag
        headerFields[.ifModifiedSince] = validators.lastModified
    }
}
#endif
