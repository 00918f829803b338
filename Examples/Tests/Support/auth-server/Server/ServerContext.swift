import Hummingbird
import NIOCore

/// What a request carries along: Hummingbird's own part, and the connection it came in on.
///
/// The connection is there for faults that break it.
struct ServerContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
