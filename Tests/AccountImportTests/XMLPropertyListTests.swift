import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("XML property lists without Foundation")
struct XMLPropertyListTests {
    private static func data(extra value: String) -> Data {
        Legacy.xml(
            """
            <dict><key>token</key><string>\(Legacy.canary)</string><key>id</key><integer>8</integer>
            <key>extra</key>\(value)</dict>
            """)
    }

    @Test(
        "Reads every kind of XML property list value like Foundation",
        arguments: [
            "<string>a &lt;b&gt; &amp; &quot;c&quot; &apos;d&apos; &#65;&#x1F44B;</string>",
            "<string>x<![CDATA[<b> & ]] > ]]>y</string>", "<string/>", "<string></string>", "<string > a </string >",
            "<integer>-5</integer>", "<integer>0x1F</integer>", "<integer>9223372036854775807</integer>",
            "<real>-1.25e-1</real>", "<real>2.5</real>", "<true/>", "<false />", "<true></true>",
            "<date>2015-11-23T08:15:00Z</date>", "<data>\n\tAQID\n\tBAU=\n</data>", "<data></data>",
            "<array/>", "<dict/>", "<array><integer>1</integer><!-- a comment --><string>b</string></array>",
            "<dict><key>a&amp;b</key><dict><key/><true/></dict></dict>",
        ])
    func readsValues(value: String) throws {
        let data = Self.data(extra: value)
        let list = try #require(PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
        let expected = try PropertyListDecoder().decode(
            [String: ProfileValue].self, from: try Legacy.propertyList(["extra": try #require(list["extra"])]))
        #expect(try Legacy.read(data).account.profile == UserProfile(expected))
    }

    @Test(
        "Rejects a malformed value in an XML property list as damaged",
        arguments: [
            "", "x", "<", "<true", "<TRUE/>", "<truex/>", "</true/>", "<true>x</true>", "<plist/>", "<key>a</key>",
            "<integer/>", "<integer></integer>", "<integer>1a</integer>", "<integer>--1</integer>",
            "<integer>0x-1</integer>", "<integer>\(String(repeating: "9", count: 60))</integer>",
            "<real>one</real>", "<date>today</date>", "<date>2015-02-30T00:00:00Z</date>",
            "<data>*</data>", "<data>A</data>", "<string>a", "<string>a<b/></string>", "<string a='>x</string>",
            "<string>&nope;</string>", "<string>&#0;</string>", "<string>&#xD800;</string>", "<string>&#-5;</string>",
            "<string>&#99999999999;</string>", "<string>& </string>", "<string>&</string>",
            "<string><![CDATA[x</string>", "<array>", "<array></dict>", "<!-- x",
            "<dict><string>a</string></dict>", "<dict><key>a</key></dict>",
            "<dict><key>a</key><true/><key>a</key><true/></dict>",
            "<dict><key>\(String(repeating: "k", count: 300))</key><true/></dict>",
        ])
    func refusesWrongValues(value: String) {
        let error = Legacy.refusal(of: Self.data(extra: value))
        #expect(error?.code == .damaged)
        #expect(error?.description.contains("canary") == false)
    }

    @Test("Omits text in XML that is not UTF-8, unless its field is required")
    func leavesOutUndecodableTexts() throws {
        let data = { (xml: String) in
            let bytes = Legacy.xml(xml).map { $0 == UInt8(ascii: "~") ? 0xFF : $0 }
            return Data(bytes)
        }
        let needed = "<key>token</key><string>\(Legacy.canary)</string><key>id</key><integer>8</integer>"
        let imported = try Legacy.read(data("<dict>\(needed)<key>extra</key><string>~</string></dict>"))
        #expect(imported.account.id == "8")
        #expect(imported.account.profile == UserProfile())
        #expect(imported.warnings == ["`extra` was left out: it is a damaged string."])

        let token = data("<dict><key>id</key><integer>8</integer><key>token</key><string>~</string></dict>")
        #expect(Legacy.refusal(of: token)?.code == .invalidArgument)
        for extra in ["<key>~</key><true/>", "<key>a</key><data>~</data>", "<key>a</key><integer>~</integer>"] {
            #expect(Legacy.refusal(of: data("<dict>\(needed)\(extra)</dict>"))?.code == .damaged)
        }
    }

    @Test("Limits the nesting and size of an XML property list")
    func refusesDepthAndCount() {
        let depth = String(repeating: "<array>", count: 60_000) + String(repeating: "</array>", count: 60_000)
        #expect(Legacy.refusal(of: Self.data(extra: depth))?.code == .damaged)
        let open = String(repeating: "<array>", count: 100_000)
        #expect(Legacy.refusal(of: Self.data(extra: open))?.code == .damaged)
        let many = "<array>" + String(repeating: "<true/>", count: 100_000) + "</array>"
        #expect(Legacy.refusal(of: Self.data(extra: many))?.code == .damaged)
    }

    @Test("Refuses an XML property list that declares entities")
    func refusesEntities() {
        let data = Data(
            """
            <?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a SYSTEM "file:///etc/passwd">]>
            <plist><dict><key>token</key><string>&a;</string></dict></plist>
            """.utf8)
        let error = Legacy.refusal(of: data)
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("entities") == true)
    }

    @Test("Skips comments, byte order mark and document type in XML")
    func readsProlog() throws {
        let body =
            "<plist version='1.0'><dict><key>token</key><string>abc</string><key>id</key><string>8</string></dict></plist>"
        let doctype = "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://example.com/a.dtd\">"
        for prolog in [
            "", "\u{FEFF}", "<?xml version=\"1.0\" encoding='utf-8'?>\n", " \n<!-- a > b -->\(doctype)<!-- c -->",
            doctype,
        ] {
            #expect(try Legacy.read(Data((prolog + body + "\n<!-- end -->\n").utf8)).account.id == "8")
        }
        #expect(Legacy.refusal(of: Data((body + "x").utf8))?.code == .damaged)
        #expect(Legacy.refusal(of: Data((body + body).utf8))?.code == .damaged)
    }

    @Test("Names an unsupported XML encoding and the fix")
    func refusesEncodings() {
        let text = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><plist><true/></plist>"
        for data in [Data(text.utf8), text.data(using: .utf16LittleEndian)!, text.data(using: .utf16)!] {
            let error = Legacy.refusal(of: data)
            #expect(error?.code == .invalidArgument)
            #expect(error?.description.contains("plutil") == true)
        }
    }
}
