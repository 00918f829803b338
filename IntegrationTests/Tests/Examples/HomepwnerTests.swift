@testable import EndToEndSupport
import Foundation
import Testing

/// `homepwner` without an account, which stores items and photos in the app's documents. `DocumentArchiveTests` and
/// `DocumentFilesTests` have the damages and the processes that change a document at once.
@Suite(.queued)
struct HomepwnerTests {
    @Test func `homepwner adds, lists, shows, changes and removes items`() async throws {
        try await Household.run { household in
            let homepwner = household.homepwner
            let none = try await homepwner("list")
            #expect(none.exitCode == 0 && none.output.isEmpty && none.errors.contains("No items yet"), "\(none)")
            #expect(!household.container.exists(household.container.home), "reading creates nothing")

            let bear = try await household.add("Bear", "--serial", "A&1", "--value", "40")
            let tape = try await household.add("Rotes <Band> ä")
            let list = try await homepwner("list")
            #expect(list.output == "\(bear)  Bear (serial A&1, worth 40)\n\(tape)  Rotes <Band> ä\n")
            var items = try await household.items()
            #expect(items.map(\.name) == ["Bear", "Rotes <Band> ä"] && items.map(\.value) == [40, nil])
            #expect(items[0].createdAt.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
            let json = try await homepwner("show", bear, "--json")
            #expect(try JSONDecoder().decode(Household.Item.self, from: Data(json.output.utf8)) == items[0])
            let shown = try await homepwner("show", bear)
            #expect(shown.output.contains("Serial:  A&1\n") && shown.output.hasSuffix("Photo:   no\n"), "\(shown)")

            let edit = try await homepwner("edit", bear, "--name", "Bear 2", "--serial", "", "--no-value")
            #expect(edit.exitCode == 0 && edit.errors == "Changed Bear 2.\n", "\(edit)")
            items = try await household.items()
            #expect(items[0].name == "Bear 2" && items[0].serial == nil && items[0].value == nil && items[0].id == bear)
            let remove = try await homepwner("remove", bear)
            #expect(remove.exitCode == 0 && remove.errors == "Removed Bear 2.\n", "\(remove)")
            #expect(try await household.items().map(\.id) == [tape])
            #expect(try household.container.entry(household.document)?.permissions == 0o600)
        }
    }

    @Test func `homepwner stores, exports, replaces and removes photos of items`() async throws {
        try await Household.run { household in
            let homepwner = household.homepwner
            let (first, second) = (try household.photo("1.jpg", byte: 1), try household.photo("2.jpg", byte: 2))
            let bear = try await household.add("Bear", "--photo", first)
            let tape = try await household.add("Tape", "--photo", first)
            #expect(try await household.items().map(\.photo) == [true, true])
            try FileManager.default.removeItem(atPath: first)
            let copy = household.container.path("copy.jpg")
            let export = try await homepwner("photo", "export", bear, copy)
            #expect(export.errors == "Copied the photo of Bear to \(copy).\n", "\(export)")
            #expect(try household.container.entry(copy)?.bytes == [UInt8](repeating: 1, count: 150_000))

            #expect(try await homepwner("photo", "set", bear, second).exitCode == 0)
            #expect(try await homepwner("photo", "export", bear, copy).exitCode == 0)
            #expect(try household.container.entry(copy)?.bytes == [UInt8](repeating: 2, count: 150_000))
            #expect(household.names(in: household.photos).count == 2)

            #expect(try await homepwner("photo", "remove", bear).errors == "Removed the photo of Bear.\n")
            #expect(try await homepwner("photo", "remove", bear).exitCode == 64)
            #expect(try await homepwner("photo", "export", bear, copy).exitCode == 64)
            #expect(try await homepwner("remove", tape).exitCode == 0)
            #expect(household.names(in: household.photos).isEmpty)
            #expect(try await household.items().map(\.photo) == [false])
        }
    }

    @Test func `homepwner reports invalid arguments and changes nothing`() async throws {
        try await Household.run { household in
            let bear = try await household.add("Bear", "--photo", try household.photo("1.jpg", byte: 1))
            let before = try household.container.files()
            let mistakes: [(arguments: [String], exitCode: Int32, text: String)] = [
                (["add", "two\nlines"], 64, "in one line"),
                (["photo", "export", bear, household.container.root], 74, "is not a file"),
                (["photo", "export", bear, household.photos + "/1"], 64, "belongs to the items"),
                (["export", "--xml", household.document], 64, "belongs to the items"),
                (["remove", "nobody"], 64, "there is no item \"nobody\""),
            ]
            for mistake in mistakes {
                let outcome = try await household.homepwner.run(mistake.arguments)
                #expect(outcome.exitCode == mistake.exitCode && outcome.errors.contains(mistake.text), "\(outcome)")
                #expect(outcome.output.isEmpty, "\(outcome)")
            }
            #expect(try household.container.files() == before)
            let elsewhere = try await household.homepwner.with("HOMEPWNER_HOME", "relative")("list")
            #expect(elsewhere.exitCode == 64 && elsewhere.errors.contains("is not an absolute path"), "\(elsewhere)")
        }
    }

    @Test func `homepwner reports and keeps damaged items`() async throws {
        try await Household.run { household in
            let photo = try household.photo("1.jpg", byte: 1)
            let bear = try await household.add("Bear", "--photo", photo)
            let whole = try #require(try household.container.entry(household.document)).bytes
            let commands = [["list"], ["add", "x", "--photo", photo], ["remove", bear]]
            try household.container.write(whole.prefix(whole.count / 2), to: household.document)
            let before = try household.container.files()
            for command in commands {
                let outcome = try await household.homepwner.run(command)
                #expect(
                    outcome.exitCode == 65 && outcome.errors.contains("it is not a valid property list"), "\(outcome)")
            }
            #expect(try household.container.files() == before)
            try FileManager.default.removeItem(atPath: household.document)
            for command in commands {
                let outcome = try await household.homepwner.run(command)
                #expect(outcome.exitCode == 65 && outcome.errors.contains("Items.plist is missing"), "\(outcome)")
            }
            try household.container.write(whole, to: household.document)
            #expect(try await household.items().map(\.id) == [bear])
            #expect(try household.disagreement(isTidy: true) == nil)
        }
    }

    @Test func `plutil and Python read an export, and import reads Python's file`() async throws {
        try await Household.run { household in
            let homepwner = household.homepwner
            let bear = try await household.add("Bär & <Söhne> 🐻", "--serial", "A1", "--value", "40")
            _ = try await household.add("Tape", "--photo", try household.photo("1.jpg", byte: 1))
            let file = household.container.path("items.plist")
            let export = try await homepwner("export", "--xml", file)
            #expect(export.exitCode == 0 && export.errors == "Exported 2 items to \(file).\n", "\(export)")

            let lint = try await Command(words: ["plutil", "-lint", file]).run()
            #expect(lint.exitCode == 0 && lint.output.contains("OK"), "\(lint)")
            let shown = try await Command(words: ["plutil", "-p", file]).run()
            #expect(shown.exitCode == 0 && shown.output.contains("Söhne"), "\(shown)")
            let script = """
                import plistlib, sys
                for path in sys.argv[1:]:
                    items = plistlib.load(open(path, 'rb'))
                    print([(i['name'], i.get('serial'), i.get('value'), 'photo' in i) for i in items])
                plistlib.dump([{'name': 'From Python', 'value': 7}, items[0]], open(sys.argv[1] + '.binary', 'wb'), fmt=plistlib.FMT_BINARY)
                """
            let python = try await Command(words: ["python3", "-c", script, file, household.document]).run()
            #expect(python.exitCode == 0, "\(python)")
            #expect(
                python.output == """
                    [('Bär & <Söhne> 🐻', 'A1', 40, False), ('Tape', None, None, False)]
                    [('Bär & <Söhne> 🐻', 'A1', 40, False), ('Tape', None, None, True)]

                    """, "\(python)")

            // Importing into the same household adds only new items.
            let again = try await homepwner("import", file + ".binary")
            #expect(again.exitCode == 0 && again.errors == "Imported 1 item. 1 already existed.\n", "\(again)")
            #expect(try await household.items().map(\.name) == ["Bär & <Söhne> 🐻", "Tape", "From Python"])
            #expect(try household.disagreement(isTidy: true) == nil)
            // Importing into an empty household adds everything but the photos.
            let other = try Household(container: Container(root: household.container.path("other")))
            try FileManager.default.createDirectory(atPath: other.container.root, withIntermediateDirectories: false)
            #expect(try await other.homepwner("import", file).exitCode == 0)
            let items = try await other.items()
            #expect(items.map(\.name) == ["Bär & <Söhne> 🐻", "Tape"] && items[0].id == bear && !items[1].photo)

            try household.container.write("<plist><array><dict/></array></plist>".utf8, to: file)
            let before = try household.container.files()
            let damaged = try await homepwner("import", file)
            #expect(damaged.exitCode == 65 && damaged.errors.contains("\"name\" is missing"), "\(damaged)")
            try household.container.write(
                "<plist><array><dict><key>name</key><string></string></dict></array></plist>".utf8, to: file)
            let nameless = try await homepwner("import", file)
            #expect(nameless.exitCode == 65 && nameless.errors.contains("item 1 of"), "\(nameless)")
            #expect(try household.container.entry(household.document) == before["container/Documents/Items.plist"])
        }
    }
}
