import AccountKit
import Testing

@testable import AccountFleet

struct EtcdVersionTests {
    @Test(arguments: [
        ("3.4.23", 4), ("3.4.30", 4), ("3.4.31", 3), ("3.4.35", 3), ("3.4.36", 2), ("3.4.41", 2), ("3.4.42", 0),
        ("3.4.100", 0), ("3.5.0-rc.1", 3), ("3.5.13", 2), ("3.5.27", 2), ("3.5.28", 0), ("3.6.8", 2), ("3.6.9+x", 0),
        ("3.7.0", 0), ("4.0.0", 0),
    ])
    func `Lists each fault that a later release of an etcd series fixes`(text: String, count: Int) throws {
        let version = try #require(EtcdVersion(text))
        #expect(version.faults.count == count, "\(version.faults)")
        #expect((version.update == nil) == (count == 0))
        #expect(version.update.map { $0.minor == version.minor } ?? true)
    }

    @Test(arguments: ["", "3", "3.4", "3.4.x", "3.4.23.1", "..", "unknown"])
    func `Rejects text that is not an etcd version`(text: String) {
        #expect(EtcdVersion(text) == nil)
    }

    private func observations(_ versions: [String]) -> [StorageObservation] {
        StorageObservation.versions(
            of: versions.enumerated().map { index, version in
                EtcdMember(
                    endpoint: "10.0.0.\(index):2379",
                    state: .success(
                        EtcdMember.State(version: version, leader: "1", id: "\(index)", latency: .zero)))
            })
    }

    @Test func `Reports faults and advice once for etcd nodes with the same version`() throws {
        let found = observations(["3.4.23", "3.4.42", "3.4.23", "3.5.27", "unknown"])
        #expect(found.count == 2)
        let first = try #require(found.first)
        #expect(first.text.hasPrefix("etcd 3.4.23 at 10.0.0.0:2379, 10.0.0.2:2379: a watch can lose events"))
        #expect(try #require(first.advice).contains("update etcd to 3.4.42"))
        #expect(found.last?.advice?.contains("update etcd to 3.5.28") == true)
        #expect(observations(["3.4.42", "3.6.9"]).isEmpty)
    }
}
