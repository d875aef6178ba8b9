// The second stage with its CRC, as boot2_image.py made it.
    .section .boot2, "a"
    .incbin "boot2.checked"
