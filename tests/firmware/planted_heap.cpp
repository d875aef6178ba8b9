// Never part of anything: what check_cortex_m0plus.sh must refuse.
int* planted(unsigned long long a, unsigned long long b) { return new int(static_cast<int>(a / b)); }
