import AccountKit
import Benchmark
import CFloor
import Foundation
import SampleAccount

/// Saves an account to files that survive a power cut.
func saveBenchmarks() {
    Benchmark("save: store") { benchmark, store in
        benchmark.startMeasurement()
        try await store.update { (account: inout Account) throws(AccountError) in
            account.profile["points"] = .integer(account.profile.points + 1)
        }
        benchmark.stopMeasurement()
    } setup: {
        try await Place("save-store").signedInStore()
    }

    // The same bytes, written equally durably, without any other work.
    Benchmark("save: floor") { (benchmark: Benchmark, ready: (Place, Data)) in
        let (place, bytes) = ready
        benchmark.startMeasurement()
        let error = bytes.withUnsafeBytes { floor_save(place.folder, place.archive, $0.baseAddress, $0.count) }
        benchmark.stopMeasurement()
        if let error { throw Failure(error) }
    } setup: {
        let place = try Place("save-floor")
        _ = try await place.signedInStore()
        return (place, try Data(contentsOf: URL(fileURLWithPath: place.archive)))
    }

    // For comparison: a plain file, which a power cut may lose.
    Benchmark("save: NSKeyedArchiver") { (benchmark: Benchmark, ready: (URL, Account)) in
        let (file, account) = ready
        benchmark.startMeasurement()
        try ArchivedAccount.archived(account).write(to: file, options: .atomic)
        benchmark.stopMeasurement()
    } setup: {
        (URL(fileURLWithPath: try Place("save-keyed").root + "/Account.archive"), Account.sample())
    }
}
