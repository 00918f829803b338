// The least that a program in Swift costs: it prints as much as `whoami` does.
print("alice")
