// One thread on each SM: the SM's count of cycles, and the GPU's time in ns. stamps: (SMs, 2).
__global__ void read_clock(unsigned long long* stamps) {
    unsigned int sm;
    unsigned long long cycles, ns;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    asm volatile("mov.u64 %0, %%clock64;\n\tmov.u64 %1, %%globaltimer;" : "=l"(cycles), "=l"(ns)::"memory");
    stamps[2 * sm] = cycles;
    stamps[2 * sm + 1] = ns;
}
