@testable import EndToEndSupport
import Foundation
import Testing

/// Files that other programs share with `homepwner`. `InventoryTests` and `OtherKeysTests` have the tables.
@Suite(.queued)
struct HomepwnerFilesTests {
    @Test func `homepwner keeps names with joiners`() async throws {
        try await Household.run { household in
            let names = ["👩🏽‍💻 Kim's desk", "می\u{200C}خواهم", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "Dampf\u{AD}schiff", "abc\u{202E}fed"]
            for name in names { _ = try await household.add(name) }
            #expect(try await household.items().map { Array($0.name.utf8) } == names.map { Array($0.utf8) })
            let list = try await household.homepwner("list")
            #expect(names.dropLast().allSatisfy { list.output.contains($0) }, "\(list)")
            #expect(!list.output.contains("\u{202E}"), "\(list)")
        }
    }

    @Test func `homepwner keeps the members of other programs`() async throws {
        try await Household.run { household in
            let bear = try await household.add("Bear")
            let script = """
                import plistlib, sys
                path = sys.argv[1]
                items = plistlib.load(open(path, 'rb'))
                items[0].update({'room': 'attic', 'tags': ['a', {'b': True}], 'weight': 2.5})
                plistlib.dump({'version': 2, 'items': items}, open(path, 'wb'))
                """
            let write = try await Command(words: ["python3", "-c", script, household.document]).run()
            #expect(write.exitCode == 0, "\(write)")
            let tape = try await household.add("Tape")
            for arguments in [["edit", bear, "--value", "3"], ["remove", tape]] {
                let outcome = try await household.homepwner.run(arguments)
                #expect(outcome.exitCode == 0, "\(outcome)")
            }
            let data = try Data(contentsOf: URL(filePath: household.document))
            let tree = try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
            let item = try #require((tree?["items"] as? [[String: Any]])?.first)
            #expect(tree?["version"] as? Int == 2 && item["room"] as? String == "attic")
            #expect((item["tags"] as? [Any])?.count == 2 && item["weight"] as? Double == 2.5)
            #expect(item["value"] as? Int == 3)
        }
    }

    @Test func `homepwner imports all items of a file in which two have the same ID`() async throws {
        try await Household.run { household in
            let file = household.container.path("items.plist")
            func item(_ id: String, _ name: String) -> String {
                "<dict><key>id</key><string>\(id)</string><key>name</key><string>\(name)</string></dict>"
            }
            try household.container.write(
                "<plist><array>\(item("1", "Bear"))\(item("1", "Tape"))</array></plist>".utf8, to: file)
            let first = try await household.homepwner("import", file)
            #expect(first.errors.hasPrefix("Imported 2 items. 1 got a new ID"), "\(first)")
            let second = try await household.homepwner("import", file)
            #expect(second.errors == "Imported 0 items. 2 already existed.\n", "\(second)")
            #expect(try await household.items().map(\.name) == ["Bear", "Tape"])

            let many = (0..<20_000).map { item("a\($0)", "Item \($0)") }.joined()
            try household.container.write("<plist><array>\(many)</array></plist>".utf8, to: file)
            let all = try await household.homepwner("import", file)
            #expect(all.errors == "Imported 20000 items.\n", "\(all)")
        }
    }
}
