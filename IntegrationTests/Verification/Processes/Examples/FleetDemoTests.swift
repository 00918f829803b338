@testable import EndToEndSupport
import Testing

@Suite(.queued)
struct FleetDemoTests {
    @Test func `The demo with an etcd cluster succeeds`() async throws { try await DemoScript.run("fleet-demo.sh") }
}
