package python3

//go:generate sh -c "awk -f names.awk cpy3_funcs.h > cpy3_names.h"
