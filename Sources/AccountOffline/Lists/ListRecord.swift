#if Offline
import AccountSupport
import HTTPTypes

/// The data of a list, except its rows.
struct ListRecord: Codable, Sendable, Equatable {
    /// A sequence of consecutive pages. There is a gap between two segments.
    struct Segment: Codable, Sendable, Equatable {
        /// The number that determines the ascending order of the segments.
        var number: Int
        /// The cursor of the page after the segment, or `nil` if the list ends with the segment.
        var next: String?
        /// The cursor of the last page of the segment, if the positions of the adapter do not fit the pages.
        var page: String?
    }

    let name: String
    var segments: [Segment] = []

    /// The cursor of the second page, which the first page contained.
    var next: String?

    var validators: Validators?

    /// The keys of the items of the first page, one after another. The validators confirm the list only while it
    /// contains these items.
    var firstPage: Data?

    /// The number of items in the last pages whose IDs cannot be read.
    var unreadableCount: Int?

    /// The number of requests since the last one that added a row at the end of the first segment.
    var idleCount: Int?

    /// The number of requests that added no row since the user last requested the list. If rows come and go, ``idleCount`` stays
    /// small.
    var allIdleCount: Int?

    /// The number of restarts at the front since the user last requested the list, because its pages did not fit together.
    var restartCount: Int?

    /// The number of these restarts since the last one that brought a new or changed row.
    var idleRestartCount: Int?

    /// The time when the service first sent an empty list instead of several rows.
    var emptySince: Date?

    init(name: String) { self.name = name }

    /// Whether the pages have not fit together so often that they probably never will. Other clients may also change the list
    /// faster than this one reads it, and then each restart brings a new row.
    var isEndless: Bool { idleRestartCount ?? 0 > 20 || restartCount ?? 0 > 100 }

    var hasCounts: Bool { [idleCount, allIdleCount, restartCount, idleRestartCount].contains { $0 != nil } }

    /// Ends the counts, because the user requests the list again.
    mutating func endCounts() {
        (idleCount, allIdleCount) = (nil, nil)
        (restartCount, idleRestartCount) = (nil, nil)
    }
}

/// The validators of a conditional request (RFC 9110, section 8.8).
struct Validators: Codable, Sendable, Equatable {
    /// The path and the accepted types of the request.
    var request: String
    var entityTag: String?
    var lastModified: String?

    var isEmpty: Bool { entityTag == nil && lastModified == nil }

    init(_ head: HTTPResponse, to request: HTTPRequest) {
        self.request = Self.place(of: request)
        entityTag = head.headerFields[.eTag]
        lastModified = head.headerFields[.lastModified]
    }

    static func place(of request: HTTPRequest) -> String {
        (request.path ?? "") + " " + (request.headerFields[.accept] ?? "")
    }
}

extension HTTPRequest {
    mutating func add(_ validators: Validators) {
        guard validators.request == Validators.place(of: self) else { return }
        headerFields[.ifNoneMatch] = validators.entityTag
        headerFields[.ifModifiedSince] = validators.lastModified
    }
}
#endif
