// 64 x 64 -> 64 bit multiplication for a processor whose multiplier gives 32 bits: takes the place of the library's, which needs
// more than twice the cycles. Two of these are in every sample: V x I and I x I.
//     (a_high, a_low) x (b_high, b_low) = a_low x b_low + 2^32 (a_high x b_low + a_low x b_high)   modulo 2^64
// with a_low x b_low from four products of 16 bits. r0, r1: a; r2, r3: b; the result in r0, r1.
    .syntax unified
    .cpu cortex-m0plus
    .thumb
    .section .text.__aeabi_lmul, "ax"
    .global __aeabi_lmul
    .global __muldi3
    .thumb_func
__muldi3:
    .thumb_func
__aeabi_lmul:
    muls r1, r2
    muls r3, r0
    adds r1, r3                // what only reaches the upper half
    push {r4, r5}
    uxth r4, r0                // a0
    lsrs r0, r0, #16           // a1
    lsrs r3, r2, #16           // b1
    uxth r2, r2                // b0
    mov r5, r4
    muls r4, r2                // a0 b0
    muls r5, r3                // a0 b1
    muls r3, r0                // a1 b1
    muls r0, r2                // a1 b0
    adds r5, r0                // the middle, 33 bits
    movs r2, #0
    adcs r2, r2
    lsls r2, r2, #16
    adds r3, r2
    lsls r0, r5, #16
    lsrs r5, r5, #16
    adds r0, r4
    adcs r3, r5
    adds r1, r3
    pop {r4, r5}
    bx lr
    .size __aeabi_lmul, . - __aeabi_lmul
