import Hummingbird
import NIOCore

/// The context of a request: Hummingbird's own part, the connection, and the request's number.
///
/// Faults use the connection to break it.
struct ServerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    /// The number of the request in the log.
    var requestNumber: Int?

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
