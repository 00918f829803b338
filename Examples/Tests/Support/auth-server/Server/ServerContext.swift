import Hummingbird
import NIOCore

/// What a request carries along: Hummingbird's own part, the connection it came in on, and its number.
///
/// The connection is there for faults that break it.
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
