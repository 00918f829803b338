import Testing

@testable import AccountHelpers

/// The record by which a helper recognizes that a server refused a token without a known expiry.
struct HelperRequestsTests {
    private static let first = HelperRequest(program: 7, place: "https://k8s.example", session: "work", issuedAt: 1000)

    private static func changed(_ change: (inout HelperRequest) -> Void) -> HelperRequest {
        var request = first
        change(&request)
        return request
    }

    /// Returns whether each of the requests repeats an earlier one.
    private func repeats(_ list: [HelperRequest]) -> [Bool] {
        var requests = HelperRequests()
        return list.map { requests.note($0) }
    }

    @Test func `Recognizes the same process, server, session and token`() {
        #expect(repeats([Self.first, Self.first, Self.first]) == [false, true, true])
    }

    @Test(arguments: [
        changed { $0.program = 8 }, changed { $0.place = "https://other.example" }, changed { $0.session = "default" },
    ])
    func `Does not confuse another process, server or session`(other: HelperRequest) {
        #expect(repeats([Self.first, other, Self.first, other]) == [false, false, true, true])
    }

    @Test func `Replaces the record of an earlier token`() {
        let renewed = Self.changed { $0.issuedAt = 2000 }
        #expect(repeats([Self.first, renewed, renewed, Self.first]) == [false, false, true, false])
    }

    @Test func `Keeps a bounded number of requests`() {
        let programs = (1...100).map { program in Self.changed { $0.program = program } }
        #expect(repeats(programs) == programs.map { _ in false })
        #expect(repeats(programs + [programs[99], programs[0]]).suffix(2) == [true, false])
    }
}
