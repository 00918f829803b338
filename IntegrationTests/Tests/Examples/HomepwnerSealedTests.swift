@testable import EndToEndSupport
import Foundation
import Testing

/// `homepwner` with an account, which encrypts items and photos for the signed-in user. `SealedDocumentTests` has the
/// interrupted and repeated moves of plain documents.
@Suite(.queued)
struct HomepwnerSealedTests {
    private static let marker = "marker-9b1e"

    @Test func `Sealed items support all commands and are not stored in plain text`() async throws {
        try await SealedHousehold.run { user in
            let household = user.household
            let photo = try user.photo("1.jpg", of: Self.marker)
            let bear = try await household.add(Self.marker, "--serial", Self.marker, "--photo", photo, "--sealed")
            #expect(try household.files(containing: Self.marker) == [])
            #expect(!household.container.exists(household.document))

            // Later commands recognize the sealed items, with or without the option.
            let tape = try await household.add("Tape " + Self.marker)
            _ = try await household.add("Lamp", "--sealed")
            #expect(try await household.items().map(\.name) == [Self.marker, "Tape " + Self.marker, "Lamp"])
            #expect(try await household.homepwner("edit", tape, "--name", Self.marker + " edited").exitCode == 0)
            #expect(try await household.homepwner("photo", "set", tape, photo).exitCode == 0)
            #expect(try await household.exportedPhoto(of: bear) == Data(contentsOf: URL(filePath: photo)))
            #expect(try await household.exportedPhoto(of: tape) == Data(contentsOf: URL(filePath: photo)))
            #expect(try await household.homepwner("remove", bear).exitCode == 0)
            #expect(try household.files(containing: Self.marker) == [])

            let file = household.container.path("items.plist")
            #expect(try await household.homepwner("export", "--xml", file).exitCode == 0)
            let imported = try await household.homepwner("import", file)
            #expect(imported.errors == "Imported 0 items. 2 already existed.\n", "\(imported)")
            #expect(!household.container.exists(household.document))
        }
    }

    @Test func `Adding a sealed item without a session fails with a hint`() async throws {
        try await Household.run { household in
            let outcome = try await household.homepwner("add", "Bear", "--sealed")
            #expect(outcome.exitCode == 77 && outcome.errors.contains("run `homepwner account login`"), "\(outcome)")
            #expect(outcome.output.isEmpty)
            #expect(try await household.homepwner("seal").exitCode == 77)
            #expect(try await household.homepwner("account", "login").exitCode == 64)
            // Commands that require no account work without a session.
            #expect(try await household.homepwner("account", "logout").exitCode == 0)
            _ = try await household.add("Bear")
            #expect(try household.disagreement(isTidy: false) == nil)
        }
    }

    @Test func `Keeps sealed items for the same user after the session has ended`() async throws {
        try await SealedHousehold.run { user in
            let homepwner = user.household.homepwner
            let photo = try user.photo("1.jpg", of: Self.marker)
            let bear = try await user.household.add(Self.marker, "--photo", photo, "--sealed")
            // A token from the environment is not a session, so the command does not create a plain-text list.
            let token = try await homepwner.with("HOMEPWNER_TOKEN", "x")("add", "x")
            #expect(token.exitCode == 64 && token.errors.contains("HOMEPWNER_TOKEN"), "\(token)")
            try await user.server.endSessions()
            #expect(try await homepwner("account", "whoami", "--verify").exitCode == 77)
            for command in [["list"], ["add", "x"], ["seal"]] {
                let outcome = try await homepwner.run(command)
                #expect(outcome.exitCode == 77 && outcome.errors.contains("account login"), "\(outcome)")
            }
            try await user.signIn(as: "bob")
            #expect(try await user.household.items().isEmpty)
            _ = try await user.household.add("bob's", "--sealed")
            #expect(try await homepwner("show", bear).exitCode == 64)
            // Signing out removes bob's items, but not alice's items.
            #expect(try await homepwner("account", "logout", "--force").exitCode == 0)
            try await user.signIn()
            #expect(try await user.household.items().map(\.name) == [Self.marker])
            #expect(try await user.household.exportedPhoto(of: bear) == Data(contentsOf: URL(filePath: photo)))
        }
    }

    @Test func `homepwner logout warns about lost items, then removes the items`() async throws {
        try await SealedHousehold.run { user in
            let homepwner = user.household.homepwner
            for number in 1...2 { _ = try await user.household.add("\(number)", "--sealed") }
            let refusal = try await homepwner("account", "logout")
            let text = "would lose 2 items that are kept only on this machine"
            #expect(refusal.exitCode == 75 && refusal.errors.contains(text), "\(refusal)")
            #expect(try await user.household.items().count == 2)

            let logout = try await Terminal.run(
                homepwner.command(["account", "logout"]), .wait("[y/N]"), .type("y"), .enter)
            #expect(logout.exitCode == 0, "\(logout)")
            let files = try FileManager.default.subpathsOfDirectory(atPath: user.household.container.home)
            #expect(!files.contains { $0.hasSuffix("Items.plist") || $0.contains("Offline-") }, "\(files)")
            #expect(try await user.household.items().isEmpty)
            try await user.signIn()
            #expect(try await user.household.items().isEmpty)
        }
    }

    @Test func `homepwner seal moves all plain-text items into the sealed list`() async throws {
        try await SealedHousehold.run { user in
            let (household, homepwner) = (user.household, user.household.homepwner)
            let nothing = try await homepwner("seal")
            #expect(nothing.exitCode == 0 && nothing.errors.contains("No items yet"), "\(nothing)")
            let photo = try user.photo("1.jpg", of: Self.marker)
            let bear = try await household.add(Self.marker, "--photo", photo)
            _ = try await household.add("Tape")
            let items = try await household.items()
            let refusal = try await homepwner("add", "x", "--sealed")
            #expect(refusal.exitCode == 64 && refusal.errors.contains("with `homepwner seal`"), "\(refusal)")
            #expect(try await household.items() == items)

            let seal = try await homepwner("seal")
            #expect(seal.exitCode == 0 && seal.errors == "Sealed 2 items.\n", "\(seal)")
            #expect(try household.files(containing: Self.marker) == [])
            #expect(try await household.items() == items)
            #expect(try await household.exportedPhoto(of: bear) == Data(contentsOf: URL(filePath: photo)))
            #expect(try await homepwner("seal").errors == "The items are sealed already.\n")
        }
    }
}
