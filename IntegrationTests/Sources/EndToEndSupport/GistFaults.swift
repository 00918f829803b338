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

    /// Carries out the request, and closes the connection without a response.
    static let appliedButDropped = Fault(path: "/gists*", disconnect: .before, afterHandler: true, times: 1)
}
