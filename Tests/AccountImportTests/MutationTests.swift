import AccountImport
import AccountKit
import Foundation
import Testing

/// Every damaged file results in an account or in an error with a reason. Neither result shows the token.
@Suite("Damaged files")
struct MutationTests {
    private static let names = ["JFAccountModel.plist", "JFAccountModel.xml.plist"]

    private struct Outcome {
        var accountCount = 0
        var codes: Set<AccountError.Code> = []

        /// Parts of the token, which are found even if one bit of it was flipped.
        private static let parts = [Legacy.canary.prefix(16), Legacy.canary.suffix(16)]

        mutating func read(_ data: Data) async {
            // Yield, because thousands of reads take seconds and other tests measure time.
            await Task.yield()
            let texts: [String]
            do {
                let imported = try Legacy.read(data)
                accountCount += 1
                texts = imported.warnings
            } catch {
                codes.insert(error.code)
                texts = [error.description]
            }
            for text in texts { #expect(!Self.parts.contains { text.contains($0) }, "\(text)") }
        }
    }

    /// `make verify PART=fuzz` tries more changes of these files.
    @Test("Returns an account or an error for an old file with a flipped bit in any byte", arguments: names)
    func flips(name: String) async throws {
        let original = try Legacy.fixture(name)
        var outcome = Outcome()
        for index in original.indices {
            var data = original
            data[index] ^= 1 << (index % 8)
            await outcome.read(data)
        }
        #expect(outcome.accountCount > 0)
        #expect(outcome.codes.isSuperset(of: [.damaged, .invalidArgument]))
        #expect(outcome.codes.isSubset(of: [.damaged, .invalidArgument, .unsupportedVersion]))
    }

    @Test("Returns an error for every truncated old file", arguments: names)
    func truncations(name: String) async throws {
        let original = try Legacy.fixture(name)
        // The XML file ends with a line break, which may be missing.
        let whole = name.contains("xml") ? original.count - 1 : original.count
        var outcome = Outcome()
        for count in 0..<whole { await outcome.read(original.prefix(count)) }
        #expect(outcome.accountCount == 0)
        #expect(outcome.codes.isSubset(of: [.damaged, .invalidArgument]))
    }

    @Test("Returns an account or an error for an old file with random changes", arguments: names, 0..<4)
    func randomChanges(name: String, seed: UInt64) async throws {
        let original = try Legacy.fixture(name)
        var random = SplitMix64(state: seed)
        var outcome = Outcome()
        for _ in 0..<500 {
            var data = original
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<data.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: data[index] = .random(in: 0...255, using: &random)
                case 1: data.remove(at: index)
                case 2: data.insert(.random(in: 0...255, using: &random), at: index)
                default: data.append(contentsOf: original.dropFirst(index).prefix(16))
                }
            }
            await outcome.read(data)
        }
        #expect(outcome.codes.contains(.damaged))
    }
}

/// Reproducible random numbers.
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var result = state
        result = (result ^ (result >> 30)) &* 0xBF58_476D_1CE4_E5B9
        result = (result ^ (result >> 27)) &* 0x94D0_49BB_1331_11EB
        return result ^ (result >> 31)
    }
}
