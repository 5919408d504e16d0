module careen.test/gval

go 1.19

require github.com/PaesslerAG/gval v1.2.4

require github.com/shopspring/decimal v1.3.1 // indirect
