@testable import EndToEndSupport
import Foundation
import Testing

/// Each system call of `homepwner seal` that changes files fails or ends the process.
@Suite(.queued)
struct HomepwnerSealedFaultTests {
    private static let marker = "canary-bear"

    @Test(arguments: ["signal=KILL", "error=ENOSPC"])
    func `A rerun of seal completes after a kill or a full disk, with all items`(
        fault: String
    ) async throws {
        try await SealedHousehold.run { user in
            let photo = try user.photo("1.jpg", of: Self.marker)
            let bear = try await user.household.add(Self.marker, "--photo", photo)
            _ = try await user.household.add("Tape")
            let items = try await user.household.items()
            let content = try Data(contentsOf: URL(filePath: photo))

            let dry = try user.household.copy("dry")
            let calls = try await HomepwnerFaultTests.calls(
                ["seal"], named: "openat,mkdir,write,fsync,rename,unlink", in: dry
            ).filter { $0.name != "openat" }
            #expect(calls.count > 10, "\(calls)")
            var failureCount = 0
            for call in calls {
                let copy = try user.household.copy("\(call.name)-\(call.number)")
                let outcome = try await copy.homepwner.command(["seal"])
                    .run(
                        by: "strace", "-f", "-qq", "-o", copy.container.path("calls"), "-e", "trace=\(call.name)", "-e",
                        "inject=\(call.name):\(fault):when=\(call.number)"
                    ).run()
                if outcome.exitCode != 0 { failureCount += 1 }
                #expect([0, 74, 137].contains(outcome.exitCode), "\(call): \(outcome)")
                // Unless the command reports items in both places, all items are present, either in plain text or
                // sealed.
                let list = try await copy.homepwner("list")
                #expect([0, 65].contains(list.exitCode), "\(call): \(list)")
                if list.exitCode == 0 { #expect(try await copy.items() == items, "\(call)") }
                let again = try await copy.homepwner("seal")
                #expect(again.exitCode == 0, "\(call): \(again)")
                #expect(try await copy.items() == items, "\(call)")
                #expect(try await copy.exportedPhoto(of: bear) == content, "\(call)")
                #expect(try copy.files(containing: Self.marker) == [], "\(call)")
            }
            // The distribution of the work among the threads varies, so some calls do not occur.
            #expect(failureCount * 2 >= calls.count, "\(failureCount) of \(calls)")
        }
    }
}
