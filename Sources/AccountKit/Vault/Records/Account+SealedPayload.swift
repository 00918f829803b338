import AccountSupport

/// The secrets are the tokens, the client secret and the key of the tokens. The record contains the targets of the derived tokens in the order
/// of their secrets.
extension Account: SealedPayload {
    static var sealedName: String { "an account" }

    var sealedRecord: [String: ProfileValue] {
        var fields = [String: ProfileValue](minimumCapacity: 10)
        fields["id"] = .string(id)
        fields["tokenType"] = .string(credentials.tokenType)
        fields["issuedAt"] = .date(credentials.issuedAt)
        fields["issuer"] = issuer.map { .string($0) }
        fields["username"] = username.map { .string($0) }
        fields["clientID"] = credentials.clientID.map { .string($0) }
        if credentials.clientSecret == .none { fields["isPublicClient"] = .boolean(true) }
        fields["clientAuthentication"] = credentials.clientAuthentication.map { .string($0) }
        if let endpoint = credentials.tokenEndpoint {
            var record: [String: ProfileValue] = ["url": .string(endpoint.url), "expiresAt": .date(endpoint.expiresAt)]
            record["authenticationMethods"] = endpoint.authenticationMethods.map { .array($0.map { .string($0) }) }
            record["userInfo"] = endpoint.userInfo.map { .string($0) }
            fields["tokenEndpoint"] = .dictionary(record)
        }
        fields["proofNonce"] = credentials.proofNonce.map { .string($0) }
        if credentials.omitsResource { fields["omitsResource"] = .boolean(true) }
        if credentials.isForAPIOnly { fields["isForAPIOnly"] = .boolean(true) }
        if let machine = credentials.machine {
            var record: [String: ProfileValue] = ["grant": .string(machine.type)]
            if !machine.scopes.isEmpty { record["scopes"] = .array(machine.scopes.map { .string($0) }) }
            record["audience"] = machine.audience.map { .string($0) }
            if let key = machine.key {
                var file: [String: ProfileValue] = ["path": .string(key.path)]
                file["id"] = key.id.map { .string($0) }
                file["audience"] = key.audience.map { .string($0) }
                record["key"] = .dictionary(file)
            }
            record["workload"] = machine.workload.map { .array($0.map { .string($0) }) }
            record["assertionAudience"] = machine.assertionAudience.map { .string($0) }
            record["subject"] = machine.subject.map { .string($0) }
            fields["machine"] = .dictionary(record)
        }
        if credentials.isOfOtherUser { fields["isWithheld"] = .boolean(true) }
        if credentials.isOfUnsupportedType { fields["isOfUnsupportedType"] = .boolean(true) }
        for (name, texts) in [
            ("scopes", credentials.scopes), ("signInScopes", credentials.signInScopes),
            ("resources", credentials.resources),
        ] where !texts.isEmpty {
            fields[name] = .array(texts.map { .string($0) })
        }
        fields["expiresAt"] = credentials.expiresAt.map { .date($0) }
        fields["verifiedAt"] = verifiedAt.map { .date($0) }
        if !profile.fields.isEmpty { fields["profile"] = .dictionary(profile.fields) }
        if !credentials.derivedTokens.isEmpty {
            fields["derivedTokens"] = .array(credentials.derivedTokens.map { .dictionary(Self.record(of: $0)) })
        }
        return fields
    }

    var sealedSecrets: [SealedSecret] {
        var secrets = [SealedSecret(.accessToken, credentials.accessToken)]
        if let token = credentials.refreshToken { secrets.append(SealedSecret(.refreshToken, token)) }
        if let token = credentials.idToken { secrets.append(SealedSecret(.idToken, token)) }
        secrets += credentials.derivedTokens.map { SealedSecret(.derivedToken, $0.credentials.accessToken) }
        if case .secret(let secret) = credentials.clientSecret {
            secrets.append(SealedSecret(.clientSecret, secret))
        }
        // Versions that do not support this tag refuse the archive. They would save the session without its key.
        if let key = credentials.proofKey { secrets.append(SealedSecret(.proofKey, key)) }
        return secrets
    }

    init(record: [String: ProfileValue], secrets: [SealedSecret]) throws(RecordPropertyList.Malformed) {
        // Use variables instead of a dictionary, since instantiating a dictionary type would take longer than the rest
        // of this function.
        var accessToken: Secret?
        var refreshToken: Secret?
        var idToken: Secret?
        var clientSecret: Secret?
        var proofKey: Secret?
        var derived: [Secret] = []
        for sealed in secrets {
            switch sealed.tag {
            case .accessToken where accessToken == nil: accessToken = sealed.secret
            case .refreshToken where refreshToken == nil: refreshToken = sealed.secret
            case .idToken where idToken == nil: idToken = sealed.secret
            case .derivedToken: derived.append(sealed.secret)
            case .clientSecret where clientSecret == nil: clientSecret = sealed.secret
            case .proofKey where proofKey == nil: proofKey = sealed.secret
            default: throw RecordPropertyList.unusable
            }
        }
        guard let accessToken, let id = try record.text("id"), let tokenType = try record.text("tokenType"),
            let issuedAt = try record.date("issuedAt")
        else { throw RecordPropertyList.unusable }
        var credentials = Credentials(
            accessToken: accessToken, refreshToken: refreshToken, idToken: idToken, tokenType: tokenType,
            scopes: try record.texts("scopes") ?? [], clientID: try record.text("clientID"), issuedAt: issuedAt,
            expiresAt: try record.date("expiresAt"))
        credentials.derivedTokens = try Self.derivedTokens(record, derived)
        if let clientSecret {
            credentials.clientSecret = .secret(clientSecret)
        } else if try record.flag("isPublicClient") {
            credentials.clientSecret = .none
        }
        credentials.proofKey = proofKey
        credentials.clientAuthentication = try record.text("clientAuthentication")
        credentials.signInScopes = try record.texts("signInScopes") ?? []
        credentials.resources = try record.texts("resources") ?? []
        credentials.tokenEndpoint = Self.tokenEndpoint(record)
        credentials.proofNonce = try record.text("proofNonce")
        credentials.omitsResource = try record.flag("omitsResource")
        credentials.isForAPIOnly = try record.flag("isForAPIOnly")
        credentials.isOfOtherUser = try record.flag("isWithheld")
        credentials.isOfUnsupportedType = try record.flag("isOfUnsupportedType")
        credentials.machine = try Self.machine(record)
        self.init(
            id: id, issuer: try record.text("issuer"), username: try record.text("username"), credentials: credentials,
            profile: UserProfile(try record.dictionary("profile") ?? [:]), verifiedAt: try record.date("verifiedAt"))
    }

    private static func record(of derived: DerivedToken) -> [String: ProfileValue] {
        let (target, credentials) = (derived.target, derived.credentials)
        var fields: [String: ProfileValue] = [
            "tokenType": .string(credentials.tokenType), "issuedAt": .date(credentials.issuedAt),
        ]
        fields["expiresAt"] = credentials.expiresAt.map { .date($0) }
        fields["audience"] = target.audience.map { .string($0) }
        for (name, texts) in [
            ("resources", target.resources), ("requestedScopes", target.scopes), ("scopes", credentials.scopes),
        ] where !texts.isEmpty {
            fields[name] = .array(texts.map { .string($0) })
        }
        return fields
    }

    private static func derivedTokens(
        _ fields: [String: ProfileValue], _ secrets: [Secret]
    ) throws(RecordPropertyList.Malformed) -> [DerivedToken] {
        var records: [ProfileValue] = []
        switch fields["derivedTokens"] {
        case .array(let values)?: records = values
        case nil: break
        default: throw RecordPropertyList.unusable
        }
        guard records.count == secrets.count else { throw RecordPropertyList.unusable }
        var tokens: [DerivedToken] = []
        for (record, secret) in zip(records, secrets) {
            guard case .dictionary(let fields) = record, let tokenType = try fields.text("tokenType"),
                let issuedAt = try fields.date("issuedAt")
            else { throw RecordPropertyList.unusable }
            let target = TokenTarget(
                stored: try fields.text("audience"), try fields.texts("resources") ?? [],
                try fields.texts("requestedScopes") ?? [])
            let credentials = Credentials(
                accessToken: secret, tokenType: tokenType, scopes: try fields.texts("scopes") ?? [],
                issuedAt: issuedAt, expiresAt: try fields.date("expiresAt"))
            tokens.append(DerivedToken(target: target, credentials: credentials))
        }
        return tokens
    }

    /// Returns `nil` for an endpoint that only a later version can read: AccountKit can discover the endpoint again.
    private static func tokenEndpoint(_ fields: [String: ProfileValue]) -> TokenEndpoint? {
        do {
            guard let fields = try fields.dictionary("tokenEndpoint"), let url = try fields.text("url"),
                let expiresAt = try fields.date("expiresAt")
            else { return nil }
            return TokenEndpoint(
                url: url, authenticationMethods: try fields.texts("authenticationMethods"),
                userInfo: try fields.text("userInfo"), expiresAt: expiresAt)
        } catch {
            return nil
        }
    }

    private static func machine(
        _ fields: [String: ProfileValue]
    ) throws(RecordPropertyList.Malformed) -> MachineGrant? {
        guard let fields = try fields.dictionary("machine") else { return nil }
        guard let type = try fields.text("grant") else { throw RecordPropertyList.unusable }
        var machine = MachineGrant(
            type: type, scopes: try fields.texts("scopes") ?? [], audience: try fields.text("audience"),
            workload: try fields.texts("workload"))
        if let file = try fields.dictionary("key") {
            guard let path = try file.text("path") else { throw RecordPropertyList.unusable }
            machine.key = ClientKeyFile(path: path, id: try file.text("id"), audience: try file.text("audience"))
        }
        machine.assertionAudience = try fields.text("assertionAudience")
        machine.subject = try fields.text("subject")
        return machine
    }
}
