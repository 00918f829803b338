import Foundation

/// Faults for requests to the gists API. Each fault applies to the next request of any method, unless `on` selects
/// other requests.
extension Fault {
    /// Returns this fault for certain requests.
    ///
    /// - Parameters:
    ///   - method: Requests of this method only, such as `POST`.
    ///   - path: A path, or the beginning of a path followed by `*`.
    ///   - times: The number of requests, or `nil` for all of them.
    ///   - skip: The number of matching requests to let pass first.
    func on(_ method: String? = nil, _ path: String = "/gists*", times: Int? = 1, afterSkipping skip: Int = 0) -> Fault
    {
        var fault = self
        (fault.method, fault.path, fault.times, fault.skip) = (method, path, times, skip)
        return fault
    }

    /// No fault, for `ExampleServer.hold`.
    static let nothing = Fault(path: "/gists*", times: 1)

    /// Closes the connection without a response and without carrying out the request.
    static let dropped = Fault(path: "/gists*", disconnect: .before, times: 1)

    /// Carries out the request, and closes the connection without a response.
    static let appliedButDropped = Fault(path: "/gists*", disconnect: .before, afterHandler: true, times: 1)

    /// Carries out the request, and sends fewer bytes than the response announces.
    static let appliedButTruncated = Fault(path: "/gists*", disconnect: .truncated, afterHandler: true, times: 1)

    /// Carries out the request, and reports an error.
    static func appliedBut(status: Int) -> Fault {
        Fault(path: "/gists*", status: status, body: message("Server Error", status), afterHandler: true, times: 1)
    }

    /// A server error, optionally with the time until the service recovers.
    static func serverError(_ status: Int = 503, retryAfter: Int? = nil) -> Fault {
        var fault = Fault(path: "/gists*", status: status, body: message("Server Error", status), times: 1)
        fault.headers["Retry-After"] = retryAfter.map(String.init)
        return fault
    }

    /// The limit of requests per hour is exceeded.
    static func rateLimited(_ status: Int = 403, resetIn seconds: Int) -> Fault {
        let reset = Int(Date().timeIntervalSince1970.rounded(.up)) + seconds
        return Fault(
            path: "/gists*", status: status,
            headers: [
                "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Used": "5000",
                "X-RateLimit-Reset": String(reset), "X-RateLimit-Resource": "core",
            ], body: message("API rate limit exceeded for user ID 1001.", status), times: 1)
    }

    /// The limit of concurrent requests is exceeded, with GitHub's message. The hourly count is irrelevant.
    static func secondaryRateLimited(_ status: Int = 403, retryAfter: Int?) -> Fault {
        let words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        var fault = Fault(
            path: "/gists*", status: status,
            headers: ["X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4900"], body: message(words, status),
            times: 1)
        fault.headers["Retry-After"] = retryAfter.map(String.init)
        return fault
    }

    /// The network requires a sign-in first.
    static let captivePortal = Fault(
        path: "/gists*", status: 200, headers: ["Content-Type": "text/html"],
        body: "<html><title>Welcome</title><p>Accept our terms to go online.</html>", times: 1)

    /// An empty list, although the service has deleted nothing.
    static let emptyList = Fault(
        path: "/gists*", method: "GET", status: 200, headers: ["ETag": "W/\"empty\""], body: "[]", times: 1)

    /// Rejects a valid token.
    static let badCredentials = Fault(
        path: "/gists*", status: 401, body: message("Bad credentials", 401), times: 1)

    private static func message(_ text: String, _ status: Int) -> String {
        #"{"message":"\#(text)","documentation_url":"https://docs.github.com/rest","status":"\#(status)"}"#
    }
}
