"""COLLADA files of a few lines."""

TETRAHEDRON = "0 0 0 1 0 0 0 1 0 0 0 1"
FACES = "0 2 1 0 1 3 1 2 3 0 3 2"


def collada(*, unit="", up="Z_UP", nodes='<node><instance_geometry url="#g"/></node>', points=TETRAHEDRON, head=""):
    """A tetrahedron, or other points of the same faces, in nodes of a scene."""
    return f"""<?xml version="1.0" encoding="utf-8"?>{head}
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset>{unit}<up_axis>{up}</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="{len(points.split())}">{points}</float_array><technique_common>
<accessor source="#a" count="{len(points.split()) // 3}" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>{FACES}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene>
</COLLADA>"""
