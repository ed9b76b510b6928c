module confirm

go 1.24
