import Testing

@testable import AccountHTTP

@Suite("WWW-Authenticate challenges")
struct AuthenticationChallengeTests {
    private typealias Challenge = AuthenticationChallenge

    static let fields: [(String, [AuthenticationChallenge])] = [
        ("", []),
        (" , ,, ", []),
        ("Bearer", [Challenge(scheme: "bearer")]),
        ("Bearer ", [Challenge(scheme: "bearer")]),
        ("Bearer,Basic", [Challenge(scheme: "bearer"), Challenge(scheme: "basic")]),
        (#"Bearer realm="x""#, [Challenge(scheme: "bearer", parameters: ["realm": "x"])]),
        ("BEARER Realm=x", [Challenge(scheme: "bearer", parameters: ["realm": "x"])]),
        ("Bearer   realm \t=\t x", [Challenge(scheme: "bearer", parameters: ["realm": "x"])]),
        (#"Bearer a=1,b="2" , c=3,"#, [Challenge(scheme: "bearer", parameters: ["a": "1", "b": "2", "c": "3"])]),
        (
            #"Bearer a="\"quoted\" \\ comma, Basic b=1""#,
            [Challenge(scheme: "bearer", parameters: ["a": #""quoted" \ comma, Basic b=1"#])]
        ),
        (#"Bearer a="""#, [Challenge(scheme: "bearer", parameters: ["a": ""])]),
        (#"Bearer a="grüße""#, [Challenge(scheme: "bearer", parameters: ["a": "grüße"])]),
        (
            "Negotiate YII=, Bearer a=b",
            [Challenge(scheme: "negotiate", token68: "YII="), Challenge(scheme: "bearer", parameters: ["a": "b"])]
        ),
        ("Negotiate a/b+c==", [Challenge(scheme: "negotiate", token68: "a/b+c==")]),
        // By the grammar, the first is a token68, the second a parameter of Basic.
        ("Bearer error=", [Challenge(scheme: "bearer", token68: "error=")]),
        ("Basic a=b, Bearer =c", [Challenge(scheme: "basic", parameters: ["a": "b", "bearer": "c"])]),
        ("Bearer realm", [Challenge(scheme: "bearer", token68: "realm")]),
        (
            #"Digest realm="a", qop="auth, auth-int", Bearer error=invalid_token"#,
            [
                Challenge(scheme: "digest", parameters: ["realm": "a", "qop": "auth, auth-int"]),
                Challenge(scheme: "bearer", parameters: ["error": "invalid_token"]),
            ]
        ),
        // RFC 9110, section 11.6.1.
        (
            #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
            [
                Challenge(scheme: "basic", parameters: ["realm": "simple"]),
                Challenge(scheme: "newauth", parameters: ["realm": "apps", "type": "1", "title": #"Login to "apps""#]),
            ]
        ),
        // A repeated parameter counts as missing, even if it occurs three times.
        ("Bearer error=a, realm=b, ERROR=c", [Challenge(scheme: "bearer", parameters: ["realm": "b"])]),
        ("Bearer error=a, error=a, error=a", [Challenge(scheme: "bearer")]),
    ]

    @Test("Parses a valid WWW-Authenticate field", arguments: fields)
    func wellFormed(_ field: String, _ expected: [AuthenticationChallenge]) {
        #expect(AuthenticationChallenge.challenges(in: [field]) == expected)
    }

    @Test(
        "Keeps the challenges before a malformed challenge",
        arguments: [
            #"Basic a=b, Bearer error="invalid_token"#,
            #"Basic a=b, Bearer error="invalid_token\"#,
            #"Basic a=b, Bearer error="invalid_token" realm=x"#,
            #"Basic a=b, Bearer error="invalid_token"x"#,
            "Basic a=b, Bearer error=invalid_token=",
            "Basic a=b, Bearer error=invalid_token; realm=x",
            "Basic a=b, Bearer error=invalid_token, (",
            "Basic a=b, Bearer error=\"invalid\u{0}token\"",
            "Basic a=b, Bearer/2 error=invalid_token",
            "Basic a=b, Bearer error = invalid token",
        ])
    func malformed(_ field: String) {
        #expect(
            AuthenticationChallenge.challenges(in: [field])
                == [AuthenticationChallenge(scheme: "basic", parameters: ["a": "b"])])
    }

    @Test("Parses a WWW-Authenticate field after a malformed field")
    func severalFields() {
        #expect(
            AuthenticationChallenge.challenges(in: ["Bearer \"", "Bearer error=invalid_token"])
                == [AuthenticationChallenge(scheme: "bearer", parameters: ["error": "invalid_token"])])
    }

    @Test(
        arguments: [
            ("Bearer a=https://x.example/y?z=1, b=2", "https://x.example/y?z=1"), (#"Bearer b="x" A="y z" c"#, "y z"),
            ("Bearer a='y', b", "y"), (#"a="y"#, "y"), ("Bearer ba=y", nil), ("Bearer a", nil), ("Bearer a=", nil),
            ("Bearer a=\"\"", nil), ("Bearer b=1", nil), ("Bearer a=y" + String(repeating: " ", count: 8192), nil),
        ] as [(String, String?)])
    func `Reads a parameter of a challenge that breaks the grammar`(field: String, value: String?) {
        let challenge = AuthenticationChallenge.malformed(in: ["Basic", field], with: ["a"])
        #expect(challenge?.parameters["a"] == value)
    }

    @Test("Ignores oversized WWW-Authenticate fields and lists")
    func bounds() {
        let padded = "Bearer error=invalid_token" + String(repeating: " ", count: 8192)
        #expect(AuthenticationChallenge.challenges(in: [padded]).isEmpty)
        let many = Array(repeating: "a,", count: 4000).joined()
        #expect(AuthenticationChallenge.challenges(in: [many, many]).count == 16)
        #expect(AuthenticationChallenge.challenges(in: Array(repeating: "Bearer", count: 1000)).count == 16)
    }
}
