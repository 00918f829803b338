#if Offline
import HTTPTypes
import Testing

@testable import AccountOffline

/// The links in header fields (RFC 8288), in each form that services send.
struct WebLinkTests {
    @Test(arguments: [
        (#"<https://api.example.com/x?page=2>; rel="next""#, "https://api.example.com/x?page=2"),
        ("<https://api.example.com/x?page=2>; rel=next", "https://api.example.com/x?page=2"),
        ("</x?page=2>;rel=next", "/x?page=2"), ("<?page=2>; rel=next", "?page=2"), ("<>; rel=next", ""),
        (#"</x>; REL="NEXT""#, "/x"), (#"</x>; Rel=Next"#, "/x"),
        (#"</x>; rel="last next""#, "/x"), ("</x>; rel=\"  first\tnext  \"", "/x"),
        (#"</x>; title="more"; rel="next""#, "/x"), (#"</x>; title="a, b; rel=prev"; rel="next""#, "/x"),
        (#"</x>; title="a \"quoted\" <text>"; rel=next"#, "/x"), (#"</x>; rel = "next" ; type=text/html"#, "/x"),
        (#"</x?ids=1,2;3>; rel="next""#, "/x?ids=1,2;3"), (#"</x>; rel="n\ext""#, "/x"),
        (#"</1>; rel="prev", </x>; rel="next", </9>; rel="last""#, "/x"),
        (#"</1>; rel="prev",</x>; rel="next""#, "/x"), (#", ,</x>; rel="next", ,"#, "/x"),
        (#"</x>; rel="next", </y>; rel="next""#, "/x"), (#"</x>; crossorigin; rel=next"#, "/x"),
        (#"</1>; rel=prev; title, </x>; rel=next"#, "/x"), (#"</1>, </x>; rel="next""#, "/x"),
        (#"</1>; rel=https://example.com/rel#a, </x>; rel=next"#, "/x"),
        (#"</x>;; rel="next";"#, "/x"), (#"< /x >; rel="next""#, "/x"),
        (#"not a link; rel="next", </x>; rel="next""#, "/x"),
        (#"</x>; rel="https://example.com/rel/a next""#, "/x"),
        (#"</x>; title*=UTF-8''next%20page; rel=next"#, "/x"), (#"</x>; rel="next"#, "/x"),
        (#"</y>; rel="next"; anchor="/other", </x>; rel="next""#, "/x"),
        (#"</x>; rel="next"; anchor="""#, "/x"),
    ])
    func `Finds the link to the next page in any form`(field: String, target: String) {
        #expect(next([field]) == target)
    }

    @Test(arguments: [
        "", "<", "</x", "</x>", #"</x>; rel="prev""#, #"</x>; rel="nextpage""#, #"</x>; rel="prev"; rel="next""#,
        #"</x>; rev="next""#, #"</x>; title="rel=next""#, #"/x; rel="next""#, #"</x>; title="; rel=next"#,
        ##"</x>; rel="next"; anchor="#part""##, #"</x> rel="next""#,
    ])
    func `Finds no link to the next page in other fields`(field: String) {
        #expect(next([field]) == nil)
    }

    @Test func `Reads the links of all fields, even after a broken one`() {
        #expect(next([#"</1>; rel="prev""#, #"</x>; rel="next""#]) == "/x")
        #expect(next(["<broken", #"</x>; rel="next""#]) == "/x")
        #expect(next([#"</1>; title="open"#, #"</x>; rel="next""#]) == "/x")
        #expect(next([]) == nil)
    }

    @Test(
        arguments: [
            ("https://api.example.com/x?page=2", "page=2"), ("?page=2&a=b%20c", "page=2&a=b%20c"),
            ("/x?a=1?2#part", "a=1?2"),
            ("/x", nil), ("/x#a?b", nil), ("/x?", ""),
        ] as [(String, String?)])
    func `Returns the query of the link to the next page`(target: String, query: String?) {
        let head = HTTPResponse(status: .ok, headerFields: [.link: "<\(target)>; rel=next"])
        #expect(RemotePage.nextQuery(in: head) == query)
    }

    private func next(_ fields: [String]) -> String? {
        var head = HTTPResponse(status: .ok)
        head.headerFields[values: .link] = fields
        return RemotePage.nextLink(in: head)
    }
}
#endif
