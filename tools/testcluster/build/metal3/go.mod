module careen/testcluster/metal3

go 1.26.0

require github.com/metal3-io/baremetal-operator v0.13.1
