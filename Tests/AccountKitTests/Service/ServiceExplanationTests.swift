import AccountSupport
import Foundation
import Testing

@testable import AccountKit

/// A message says why the service refused a request, and not only that it did.
struct ServiceExplanationTests {
    @Test(arguments: [
        (#"{"message":"Not Found"}"#, "Not Found"), (#"{}"#, nil), (#"{"message":null,"errors":null}"#, nil),
        (#"{"message":"","errors":[]}"#, nil), (#"{"errors":[{"resource":"Gist"}]}"#, nil),
        // GitHub.
        (
            #"{"message":"Validation Failed","errors":[{"resource":"Gist","code":"missing_field","field":"files"}]}"#,
            "Validation Failed (files: missing_field)"
        ),
        (
            #"{"message":"Validation Failed","errors":[{"resource":"Gist","code":"custom","field":"contents","message":"contents are too large"}]}"#,
            "Validation Failed (contents: contents are too large)"
        ),
        (
            #"{"message":"Validation Failed","errors":["Could not resolve to a node","x"],"documentation_url":"u"}"#,
            "Validation Failed (Could not resolve to a node; x)"
        ),
        (#"{"message":"m","errors":[{"code":"custom","message":"m"},{"code":"invalid"}]}"#, "m (invalid)"),
        (#"{"message":"m","errors":[1,null,{"message":"a"},[],{"field":"f","code":"c"}]}"#, "m (a; f: c)"),
        (#"{"message":"m","errors":["1","2","3","4","5","6","7"]}"#, "m (1; 2; 3; 4; 5; …)"),
        // GitLab and Rails.
        (#"{"message":{"title":["can't be blank","is too short"]}}"#, "title: can't be blank, is too short"),
        (#"{"error":"Bad Request","errors":{"b":["x"],"a":"y"}}"#, "Bad Request (a: y; b: x)"),
        (#"{"message":["a","b"]}"#, "a; b"),
        // OAuth, problem details, Google, and an array of problems as `detail`.
        (#"{"error":"invalid_scope","error_description":"no such scope"}"#, "no such scope"),
        (
            ##"{"title":"Invalid","detail":"two problems","errors":[{"detail":"must be positive","pointer":"#/age"}]}"##,
            "two problems (#/age: must be positive)"
        ),
        (
            #"{"title":"Invalid","invalid-params":[{"name":"age","reason":"must be positive"}]}"#,
            "Invalid (age: must be positive)"
        ),
        (
            #"{"title":"Invalid","errors":{"age":[{"message":"must be positive"},7]}}"#,
            "Invalid (age: must be positive)"
        ),
        (#"{"error":{"code":403,"message":"denied","errors":[{"message":"quota"}]}}"#, "denied (quota)"),
        (#"{"detail":[{"loc":["body","a"],"msg":"field required"}]}"#, "field required"),
        // Text that would control a terminal.
        (#"{"message":"a\nb","errors":[{"field":"f\u001b[31m","code":"c\r\u202ed"}]}"#, "a b (f[31m: c d)"),
    ])
    func `Explains an error with its message and its details`(body: String, words: String?) throws {
        let object = try #require(JSONValue.object(from: Array(body.utf8)))
        #expect(ServiceExplanation.words(in: object, ServerText(secrets: [])) == words)
    }

    @Test func `Limits an explanation, and leaves out details with secrets`() throws {
        let text = ServerText(secrets: [Secret("canary-0123456789")])
        let long = String(repeating: "x", count: 150)
        func words(_ body: String) throws -> String? {
            ServiceExplanation.words(in: try #require(JSONValue.object(from: Array(body.utf8))), text)
        }
        #expect(try words(#"{"message":"m","errors":["\#(long)","\#(long)"]}"#)?.count == 200)
        #expect(try words(#"{"message":"m","errors":["a canary-0123456789","b"]}"#) == "m (b)")
        // Two details that together repeat a secret.
        #expect(try words(#"{"message":"canary-","errors":["x"]}"#) == "canary- (x)")
        #expect(try words(#"{"message":"canary-0123456789","errors":["b"]}"#) == "b")
    }
}
