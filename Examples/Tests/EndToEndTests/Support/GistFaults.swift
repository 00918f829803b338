import Foundation

/// What goes wrong with requests to the gists API: with the next one of any method, unless `on` says otherwise.
extension Fault {
    /// The same for certain requests.
    ///
    /// - Parameters:
    ///   - method: Of this method only, such as `POST`.
    ///   - path: A path; or the beginning of one and `*`.
    ///   - times: How often; `nil` for always.
    ///   - skip: How many of them pass before.
    func on(_ method: String? = nil, _ path: String = "/gists*", times: Int? = 1, afterSkipping skip: Int = 0) -> Fault
    {
        var fault = self
        (fault.method, fault.path, fault.times, fault.skip) = (method, path, times, skip)
        return fault
    }

    /// Nothing goes wrong; for `ExampleServer.hold`.
    static let nothing = Fault(path: "/gists*", times: 1)

    /// The connection is closed without a response, and nothing has happened.
    static let dropped = Fault(path: "/gists*", disconnect: .before, times: 1)

    /// The request is carried out, and the connection is closed without a response.
    static let appliedButDropped = Fault(path: "/gists*", disconnect: .before, afterHandler: true, times: 1)

    /// The request is carried out, and the response announces more than there is.
    static let appliedButTruncated = Fault(path: "/gists*", disconnect: .truncated, afterHandler: true, times: 1)

    /// The request is carried out, and the client hears of a failure.
    static func appliedBut(status: Int) -> Fault {
        Fault(path: "/gists*", status: status, body: message("Server Error", status), afterHandler: true, times: 1)
    }

    /// A server in trouble, which may say when it will be well again.
    static func serverError(_ status: Int = 503, retryAfter: Int? = nil) -> Fault {
        var fault = Fault(path: "/gists*", status: status, body: message("Server Error", status), times: 1)
        fault.headers["Retry-After"] = retryAfter.map(String.init)
        return fault
    }

    /// The limit of requests an hour is reached.
    static func rateLimited(_ status: Int = 403, resetIn seconds: Int) -> Fault {
        let reset = Int(Date().timeIntervalSince1970.rounded(.up)) + seconds
        return Fault(
            path: "/gists*", status: status,
            headers: [
                "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Used": "5000",
                "X-RateLimit-Reset": String(reset), "X-RateLimit-Resource": "core",
            ], body: message("API rate limit exceeded for user ID 1001.", status), times: 1)
    }

    /// There were too many requests at once, in words that GitHub uses; how many there were in the hour does not matter.
    static func secondaryRateLimited(_ status: Int = 403, retryAfter: Int?) -> Fault {
        let words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        var fault = Fault(
            path: "/gists*", status: status,
            headers: ["X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4900"], body: message(words, status),
            times: 1)
        fault.headers["Retry-After"] = retryAfter.map(String.init)
        return fault
    }

    /// A network wants someone to log in first.
    static let captivePortal = Fault(
        path: "/gists*", status: 200, headers: ["Content-Type": "text/html"],
        body: "<html><title>Welcome</title><p>Accept our terms to go online.</html>", times: 1)

    /// A list has nothing in it, although the service has not said that everything was deleted.
    static let emptyList = Fault(
        path: "/gists*", method: "GET", status: 200, headers: ["ETag": "W/\"empty\""], body: "[]", times: 1)

    /// The token is refused, although it is good.
    static let badCredentials = Fault(
        path: "/gists*", status: 401, body: message("Bad credentials", 401), times: 1)

    /// A list that has not changed is followed by another page than before.
    static func notModified(link: String) -> Fault {
        Fault(path: "/gists*", ifStatus: 304, headers: ["Link": link], times: 1)
    }

    private static func message(_ text: String, _ status: Int) -> String {
        #"{"message":"\#(text)","documentation_url":"https://docs.github.com/rest","status":"\#(status)"}"#
    }
}
