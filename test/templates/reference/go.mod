module reference

go 1.24
