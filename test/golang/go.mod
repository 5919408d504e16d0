module careen/test/golang

go 1.19

require github.com/blang/semver/v4 v4.0.0
