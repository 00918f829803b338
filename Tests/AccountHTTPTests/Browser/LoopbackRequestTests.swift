import Testing

@testable import AccountHTTP

@Suite("Requests to the loopback listener")
struct LoopbackRequestTests {
    @Test(
        "Accepts only GET requests for a known path under a loopback name",
        arguments: [
            ("GET", "/callback?code=1&state=2", ["127.0.0.1:4711"], .callback(query: "code=1&state=2")),
            ("GET", "/callback", ["localhost:4711"], .callback(query: "")),
            ("GET", "/callback?a?b", ["[::1]:4711"], .callback(query: "a?b")),
            ("GET", "/done", ["LOCALHOST:4711"], .result), ("GET", "/done?x", ["127.0.0.1:4711"], .result),
            ("GET", "/", ["127.0.0.1:4711"], .unknown), ("GET", "/callback/", ["127.0.0.1:4711"], .unknown),
            ("GET", "/Callback", ["127.0.0.1:4711"], .unknown), ("GET", "//callback", ["127.0.0.1:4711"], .unknown),
            ("GET", "/favicon.ico", ["127.0.0.1:4711"], .unknown),
            ("POST", "/callback?code=1", ["127.0.0.1:4711"], .malformed),
            ("HEAD", "/done", ["127.0.0.1:4711"], .malformed), ("get", "/done", ["127.0.0.1:4711"], .malformed),
            ("GET", "/done", [], .malformed), ("GET", "/done", ["127.0.0.1:4711", "127.0.0.1:4711"], .malformed),
            ("GET", "/done", ["127.0.0.1"], .malformed), ("GET", "/done", ["127.0.0.1:4712"], .malformed),
            ("GET", "/done", ["evil.example:4711"], .malformed), ("GET", "/done", [""], .malformed),
            ("GET", "http://127.0.0.1:4711/done", ["127.0.0.1:4711"], .result),
            ("GET", "HTTP://LocalHost:4711/callback?code=1", ["localhost:4711"], .callback(query: "code=1")),
            ("GET", "http://evil.example:4711/done", ["127.0.0.1:4711"], .malformed),
            ("GET", "http://127.0.0.1:4711/done", ["evil.example:4711"], .malformed),
            ("GET", "http://127.0.0.1:4711@evil.example/done", ["127.0.0.1:4711"], .malformed),
            ("GET", "http://127.0.0.1:4711", ["127.0.0.1:4711"], .malformed),
            ("GET", "https://127.0.0.1:4711/done", ["127.0.0.1:4711"], .malformed),
            ("GET", "*", ["127.0.0.1:4711"], .malformed), ("GET", "", ["127.0.0.1:4711"], .malformed),
        ] as [(String, String, [String], LoopbackRequest.Route)])
    func route(_ method: String, _ target: String, _ hosts: [String], _ expected: LoopbackRequest.Route) {
        #expect(LoopbackRequest(method: method, target: target, hosts: hosts, port: 4711).route() == expected)
    }
}
