import AccountKit
import AccountSupport

extension ServiceURL {
    /// Creates the URL of an origin that an app passes.
    init(origin: String) throws(AccountError) {
        let url: ServiceURL
        do {
            url = try ServiceURL(origin)
        } catch {
            throw AccountError(.invalidArgument, "the origin of the API \(error.text)")
        }
        guard url.path.isEmpty || url.path == "/", url.query == nil else {
            throw AccountError(
                .invalidArgument, "the origin of the API must end with its host or port",
                hint: "move the path to the requests")
        }
        self = url.origin
    }
}
