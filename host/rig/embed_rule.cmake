# Writes OUT, a C++ file with the text of RULE.
file(READ ${RULE} text)
file(WRITE ${OUT} "#include \"host/rig/usb_discovery.hpp\"\n\nnamespace wattrig::rig {\n"
  "std::string_view udev_rule() {\n    return R\"rule(${text})rule\";\n}\n}  // namespace wattrig::rig\n")
