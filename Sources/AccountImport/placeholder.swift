import AccountKit
