import AccountSupport

/// The parameters of tools that a client repeats in header fields.
///
/// Source: Model Context Protocol 2026-07-28, "Streamable HTTP", section "Custom Headers from Tool Parameters".
struct MCPMirroredParameters: Sendable {
    struct Parameter: Sendable, Equatable {
        /// The name of the header field, after `Mcp-Param-`.
        var name: String

        /// The names that lead to the value in the arguments.
        var path: [String]
    }

    /// A tool whose definition breaks a rule, and that clients must not see.
    struct Rejection: Error, Equatable {
        var tool: String
        var reason: String
    }

    /// The tools with such parameters. Their number is limited, because the server names them.
    private var tools: [String: [Parameter]] = [:]

    private static let maximumToolCount = 10_000

    /// Reads the tools in the result of `tools/list`.
    ///
    /// - Returns: The result without the tools that break a rule, or `nil` if it is unchanged; and these tools.
    mutating func learn(from result: JSONText) -> (changed: JSONText?, rejections: [Rejection]) {
        guard let definitions = result["tools"] else { return (nil, []) }
        var rejections: [Rejection] = []
        var rejected: Set<Int> = []
        for (index, definition) in JSONText.Elements(of: definitions).enumerated() {
            let name = definition["name"]?.string ?? ""
            do {
                let parameters = try Self.parameters(of: definition, named: name)
                tools[name] = parameters.isEmpty || tools.count >= Self.maximumToolCount ? nil : parameters
            } catch {
                tools[name] = nil
                rejected.insert(index)
                rejections.append(error)
            }
        }
        guard !rejected.isEmpty else { return (nil, []) }
        let kept = JSONText.Elements(of: definitions).enumerated().filter { !rejected.contains($0.offset) }
        return (result.setting("tools", to: JSONText(array: kept.map(\.element))), rejections)
    }

    /// The header fields of a call.
    func fields(of call: JSONText) -> [String: String] {
        guard let name = call["name"]?.string, let parameters = tools[name] else { return [:] }
        var fields: [String: String] = [:]
        for parameter in parameters {
            var value = call["arguments"]
            for name in parameter.path { value = value?[name] }
            guard let value, !value.isNull, let text = MCPFieldValue.text(of: value) else { continue }
            fields["Mcp-Param-" + parameter.name] = MCPFieldValue.encoded(text)
        }
        return fields
    }

    static func parameters(of definition: JSONText, named tool: String) throws(Rejection) -> [Parameter] {
        guard mayContainAnnotation(definition), let schema = definition["inputSchema"] else { return [] }
        var found: [Parameter] = []
        do {
            try collect(schema, path: [], isReachable: true, into: &found)
        } catch {
            throw Rejection(tool: tool, reason: error.text)
        }
        let names = found.map { $0.name.lowercased() }
        guard Set(names).count == names.count else {
            throw Rejection(tool: tool, reason: "two parameters have the same x-mcp-header")
        }
        return found
    }

    private struct Flaw: Error { let text: String }

    private static let annotation = "x-mcp-header"

    /// Returns whether a text may contain the annotation. Most texts do not, and this search is faster than a search of
    /// the schemas.
    private static func mayContainAnnotation(_ text: JSONText) -> Bool {
        var rest = text.bytes
        while let start = rest.firstIndex(where: { $0 == UInt8(ascii: "x") || $0 == UInt8(ascii: "\\") }) {
            rest = rest[start...]
            // An escape may stand for any character.
            if rest.starts(with: annotation.utf8) || rest.starts(with: #"\u"#.utf8) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    /// Members with values of the tool, where the name of the annotation has no meaning.
    private static let values: Set<String> = ["default", "examples", "enum", "const"]

    /// Members that map names to schemas.
    private static let maps: Set<String> = ["$defs", "definitions", "patternProperties", "dependentSchemas"]

    /// Deeper schemas are not searched: each level reads the text of the levels below it again.
    private static let maximumDepth = 32

    /// Collects the annotations. Only a chain of `properties` leads to a value in every call.
    private static func collect(
        _ schema: JSONText, path: [String], isReachable: Bool, depth: Int = 1, into found: inout [Parameter]
    ) throws(Flaw) {
        guard depth <= maximumDepth else { return }
        for element in JSONText.Elements(of: schema) {
            try collect(element, path: [], isReachable: false, depth: depth + 1, into: &found)
        }
        for member in JSONText.Members(of: schema) {
            let name = member.name.string ?? ""
            if name == annotation {
                guard isReachable, !path.isEmpty else {
                    throw Flaw(text: "x-mcp-header is at a place that not every call has")
                }
                found.append(Parameter(name: try fieldName(member.value, in: schema), path: path))
            } else if name == "properties" {
                for property in member.value.members {
                    let path = path + [property.name.string ?? ""]
                    try collect(
                        property.value, path: path, isReachable: isReachable, depth: depth + 1, into: &found)
                }
            } else if maps.contains(name) {
                for part in member.value.members {
                    try collect(part.value, path: [], isReachable: false, depth: depth + 1, into: &found)
                }
            } else if !values.contains(name) {
                try collect(member.value, path: [], isReachable: false, depth: depth + 1, into: &found)
            }
        }
    }

    private static func fieldName(_ value: JSONText, in schema: JSONText) throws(Flaw) -> String {
        // A token (RFC 9110, section 5.6.2).
        guard let name = value.string, 1...128 ~= name.utf8.count,
            name.utf8.allSatisfy({
                0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 || "!#$%&'*+-.^_`|~".utf8.contains($0)
            })
        else { throw Flaw(text: "an x-mcp-header is not the name of a header field") }
        guard let type = schema["type"]?.string, ["string", "integer", "boolean"].contains(type) else {
            throw Flaw(text: "a parameter with x-mcp-header is not a string, an integer or a boolean")
        }
        return name
    }
}
